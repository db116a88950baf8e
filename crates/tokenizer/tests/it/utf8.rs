//! Bytes in pieces.

use proptest::prelude::*;
use verbatim_tokenizer::Utf8Stream;

fn all(pieces: &[&[u8]]) -> String {
    let mut stream = Utf8Stream::default();
    let mut out = String::new();
    pieces.iter().for_each(|piece| stream.push(piece, &mut out));
    stream.finish(&mut out);
    out
}

#[test]
fn a_cut_character_waits_for_its_rest() {
    let mut stream = Utf8Stream::default();
    let mut out = String::new();
    stream.push(b"a\xf0\x9f", &mut out);
    assert_eq!((out.as_str(), stream.is_holding()), ("a", true));
    stream.push(b"\x98\x80b", &mut out);
    assert_eq!((out.as_str(), stream.is_holding()), ("a😀b", false));
}

/// What CPython's `bytes.decode("utf-8", "replace")` gives.
#[test]
fn broken_sequences_are_replaced_as_python_does() {
    for (bytes, expected) in [
        (&b"\xf0\x9f"[..], "\u{fffd}"),
        (b"\xf0\x9fa", "\u{fffd}a"),
        (b"\xf0\x28\x8c\x28", "\u{fffd}(\u{fffd}("),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xc0\xaf", "\u{fffd}\u{fffd}"),
        (b"\xe2\x82\xe2\x82\xac", "\u{fffd}\u{20ac}"),
        (b"\x80\x80", "\u{fffd}\u{fffd}"),
        (b"\xf5\x80", "\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(all(&[bytes]), expected, "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_text_of_the_whole(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xf0), Just(0x9f), Just(0x98), Just(0xe2)], 0..40),
        cuts in prop::collection::vec(0usize..40, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts {
            pieces.push(&bytes[start..cut]);
            start = cut;
        }
        pieces.push(&bytes[start..]);
        prop_assert_eq!(all(&pieces), String::from_utf8_lossy(&bytes).into_owned());
    }
}
