//! The keys and values of one sequence.
//!
//! The invariant: `ids` are exactly the tokens whose keys and values the blocks hold, in order.

use std::sync::Arc;

use verbatim_tokens::TokenId;

/// Tokens a block holds, in all layers.
pub(crate) const BLOCK: usize = 32;

/// How a block is laid out: per layer the keys `[kv_heads][width][BLOCK]`, then the values
/// `[kv_heads][BLOCK][width]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) layers: usize,
    pub(crate) kv_heads: usize,
    /// Numbers a head.
    pub(crate) width: usize,
}

impl Layout {
    /// Numbers that one layer's keys take in a block; its values take as many.
    fn half(self) -> usize {
        self.kv_heads * self.width * BLOCK
    }

    /// Bytes of a block.
    pub(crate) fn block_bytes(self) -> usize {
        self.layers * 2 * self.half() * size_of::<f32>()
    }
}

/// A growing sequence. Cloning it, or a prefix of it, copies no numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    ids: Vec<TokenId>,
    blocks: Vec<Arc<[f32]>>,
}

impl Sequence {
    pub(crate) fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn blocks(&self) -> &[Arc<[f32]>] {
        &self.blocks
    }

    /// The first `len` tokens, sharing their blocks.
    pub(crate) fn prefix(&self, len: usize) -> Self {
        Self { ids: self.ids[..len].to_vec(), blocks: self.blocks[..len.div_ceil(BLOCK)].to_vec() }
    }

    /// How many of `ids` this sequence begins with.
    pub(crate) fn common(&self, ids: &[TokenId]) -> usize {
        self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count()
    }

    /// Makes room for `ids` at the end, to be filled by [`Sequence::write`] for each layer, and
    /// takes a copy of the last block if it is shared and not full.
    pub(crate) fn extend(&mut self, layout: Layout, ids: &[TokenId]) {
        if !self.len().is_multiple_of(BLOCK)
            && let Some(last) = self.blocks.last_mut()
            && Arc::get_mut(last).is_none()
        {
            *last = Arc::from(&**last);
        }
        self.ids.extend_from_slice(ids);
        let numbers = layout.block_bytes() / size_of::<f32>();
        self.blocks
            .resize_with(self.ids.len().div_ceil(BLOCK), || std::iter::repeat_n(0.0, numbers).collect());
    }

    /// Writes one token's key and value, both `[kv_heads][width]`, for one layer.
    pub(crate) fn write(
        &mut self,
        layout: Layout,
        layer: usize,
        position: usize,
        key: &[f32],
        value: &[f32],
    ) {
        // `extend` has made the block this sequence's own, so this never misses.
        let Some(block) = self.blocks.get_mut(position / BLOCK).and_then(Arc::get_mut) else { return };
        let (width, slot) = (layout.width, position % BLOCK);
        let (keys, values) =
            block[layer * 2 * layout.half()..][..2 * layout.half()].split_at_mut(layout.half());
        for (head, (key, value)) in key.chunks_exact(width).zip(value.chunks_exact(width)).enumerate() {
            let keys = keys[head * width * BLOCK + slot..].iter_mut().step_by(BLOCK);
            keys.zip(key).for_each(|(slot, number)| *slot = *number);
            values[(head * BLOCK + slot) * width..][..width].copy_from_slice(value);
        }
    }

    /// Each block's part for one layer: keys, then values.
    pub(crate) fn layer(&self, layout: Layout, layer: usize) -> Vec<&[f32]> {
        let both = 2 * layout.half();
        self.blocks.iter().map(|block| &block[layer * both..][..both]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { layers: 2, kv_heads: 1, width: 2 };

    fn grown(sequence: &Sequence, ids: &[u32], number: f32) -> Sequence {
        let mut sequence = sequence.clone();
        let first = sequence.len();
        sequence.extend(LAYOUT, TokenId::wrap(ids));
        for position in first..sequence.len() {
            (0..2).for_each(|layer| sequence.write(LAYOUT, layer, position, &[number; 2], &[number; 2]));
        }
        sequence
    }

    #[test]
    fn branches_never_see_each_other() {
        let root = grown(&Sequence::default(), &[1; 40], 1.0);
        let (left, right) = (grown(&root, &[2], 2.0), grown(&root, &[3], 3.0));
        let value = |sequence: &Sequence, position: usize| {
            sequence.layer(LAYOUT, 1)[position / BLOCK][(BLOCK + position % BLOCK) * 2]
        };
        assert_eq!((value(&left, 39), value(&left, 40)), (1.0, 2.0));
        assert_eq!((value(&right, 39), value(&right, 40)), (1.0, 3.0));
        assert_eq!(value(&root, 40), 0.0);
        assert!(Arc::ptr_eq(&left.blocks()[0], &right.blocks()[0]));
        assert_eq!(left.common(right.ids()), 40);
        assert_eq!(left.prefix(33).blocks().len(), 2);
    }
}
