//! An image of a message.
//!
//! The invariants: an image is its bytes and is known by their SHA-256, whatever URL or block carried it; its type and
//! its size are what the bytes say, and only their header is read for that.

use std::fmt;
use std::io::Cursor;

use bytes::Bytes;
use image::metadata::Orientation;
use image::{ImageDecoder, ImageFormat, ImageReader};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// More pixels than an image may have: above it Pillow, with which engines and trainers read images, takes it for a
/// decompression bomb.
const MAX_PIXELS: u64 = 178_956_970;

/// An image as it was sent.
#[derive(Clone)]
pub struct Image {
    bytes: Bytes,
    sha256: [u8; 32],
    media: Media,
    width: u32,
    height: u32,
    orientation: u8,
}

/// The kinds of images that every engine's and trainer's reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Media {
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
    /// `image/webp`.
    Webp,
    /// `image/gif`; its first frame counts.
    Gif,
}

impl Media {
    /// The media type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}

/// Bytes that are no image which can be shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// They begin as no known image does.
    #[error("the bytes are no png, jpeg, webp or gif image; send one of these")]
    Unknown,
    /// Their header is broken.
    #[error("the {} image cannot be read: {problem}", .media.as_str())]
    Broken {
        /// What they began as.
        media: Media,
        /// What is wrong.
        problem: String,
    },
    /// It has more pixels than readers take.
    #[error("an image of {width} x {height} pixels is larger than {MAX_PIXELS} pixels; send a smaller one")]
    Large {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
}

impl Image {
    /// Reads the header of an image.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn read(bytes: impl Into<Bytes>) -> Result<Self, ImageError> {
        let bytes = bytes.into();
        let media = match image::guess_format(&bytes).map_err(|_| ImageError::Unknown)? {
            ImageFormat::Png => Media::Png,
            ImageFormat::Jpeg => Media::Jpeg,
            ImageFormat::WebP => Media::Webp,
            ImageFormat::Gif => Media::Gif,
            _ => return Err(ImageError::Unknown),
        };
        let broken = |error: image::ImageError| ImageError::Broken { media, problem: error.to_string() };
        let reader = ImageReader::new(Cursor::new(&bytes[..])).with_guessed_format();
        let reader = reader.map_err(|error| ImageError::Broken { media, problem: error.to_string() })?;
        let mut decoder = reader.into_decoder().map_err(broken)?;
        let (width, height) = decoder.dimensions();
        if width == 0 || height == 0 {
            return Err(ImageError::Broken { media, problem: "it has no pixels".into() });
        }
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(ImageError::Large { width, height });
        }
        // What cannot be read is upright, as it is to every other reader.
        let orientation = decoder.orientation().map_or(1, Orientation::to_exif);
        drop(decoder);
        Ok(Self { sha256: Sha256::digest(&bytes).into(), bytes, media, width, height, orientation })
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The SHA-256 of the bytes.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// The same in hexadecimal digits.
    pub fn digest(&self) -> String {
        self.sha256.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What kind of file it is.
    pub fn media(&self) -> Media {
        self.media
    }

    /// How it is to be turned, in EXIF's numbers: 1 is upright.
    pub fn orientation(&self) -> u8 {
        self.orientation
    }

    /// Width and height in pixels once it is turned as its EXIF data says.
    pub fn size(&self) -> (u32, u32) {
        if self.orientation >= 5 { (self.height, self.width) } else { (self.width, self.height) }
    }

    /// The image as a URL that holds it.
    pub fn data_url(&self) -> String {
        let mut url = format!("data:{};base64,", self.media.as_str());
        base64_simd::STANDARD.encode_append(&self.bytes, &mut url);
        url
    }
}

/// Equal bytes.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl Eq for Image {}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = self.size();
        write!(f, "Image({} {width}x{height} {})", self.media.as_str(), self.digest())
    }
}

/// Where text is wanted the base64 of its bytes, else the bytes.
impl Serialize for Image {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            base64_simd::STANDARD.encode_to_string(&self.bytes).serialize(serializer)
        } else {
            self.bytes.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Image {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let bytes = base64_simd::STANDARD.decode_to_vec(text);
            Bytes::from(bytes.map_err(|_| de::Error::custom("an image is no base64"))?)
        } else {
            Bytes::deserialize(deserializer)?
        };
        Self::read(bytes).map_err(de::Error::custom)
    }
}
