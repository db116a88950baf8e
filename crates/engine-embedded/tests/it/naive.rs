//! A decoder written for the reader, not for the machine: no cache, no batch, only loops.

use crate::tiny::{HEADS, HIDDEN, INNER, KV_HEADS, Kind, LAYERS, Tensors, VOCABULARY};

/// The logprob of each id but the first.
pub(crate) fn scores(kind: Kind, tensors: &Tensors, ids: &[u32]) -> Vec<f32> {
    let weight = |name: &str| &tensors[name].1;
    let embedding = weight("model.embed_tokens.weight");
    let mut x: Vec<Vec<f32>> =
        ids.iter().map(|id| embedding[*id as usize * HIDDEN..][..HIDDEN].to_vec()).collect();
    for layer in 0..LAYERS {
        attention(kind, tensors, layer, &mut x);
        let at = |name: &str| weight(&format!("model.layers.{layer}.{name}"));
        for row in &mut x {
            let normed = norm(row, at("post_attention_layernorm.weight"));
            let gate = product(at("mlp.gate_proj.weight"), &normed, INNER);
            let up = product(at("mlp.up_proj.weight"), &normed, INNER);
            let inner: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            add(row, &product(at("mlp.down_proj.weight"), &inner, HIDDEN));
        }
    }
    let head = tensors.get("lm_head.weight").map_or(embedding, |tensor| &tensor.1);
    let logits = x.iter().map(|row| product(head, &norm(row, weight("model.norm.weight")), VOCABULARY));
    logits
        .zip(&ids[1..])
        .map(|(logits, id)| {
            let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
            (f64::from(logits[*id as usize]) - sum.ln()) as f32
        })
        .collect()
}

fn attention(kind: Kind, tensors: &Tensors, layer: usize, x: &mut [Vec<f32>]) {
    let get = |name: &str| tensors.get(&format!("model.layers.{layer}.{name}")).map(|tensor| &tensor.1);
    let width = kind.width();
    let project = |name: &str, heads: usize, row: &[f32], position: Option<usize>| {
        let mut y = product(get(&format!("self_attn.{name}_proj.weight")).unwrap(), row, heads * width);
        if let Some(bias) = get(&format!("self_attn.{name}_proj.bias")) {
            add(&mut y, bias);
        }
        let heads = y.chunks(width).map(|head| {
            let head = match get(&format!("self_attn.{name}_norm.weight")) {
                Some(weight) => norm(head, weight),
                None => head.to_vec(),
            };
            position.map_or(head.clone(), |position| rotate(&head, position))
        });
        heads.collect::<Vec<_>>()
    };
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (position, row) in x.iter_mut().enumerate() {
        let normed = norm(row, get("input_layernorm.weight").unwrap());
        let queries = project("q", HEADS, &normed, Some(position));
        keys.push(project("k", KV_HEADS, &normed, Some(position)));
        values.push(project("v", KV_HEADS, &normed, None));
        let mut attended = Vec::new();
        for (head, query) in queries.iter().enumerate() {
            let kv = head / (HEADS / KV_HEADS);
            let scores: Vec<f32> =
                keys.iter().map(|key| (dot(query, &key[kv]) / (width as f32).sqrt()).exp()).collect();
            let sum: f32 = scores.iter().sum();
            let mut out = vec![0.0; width];
            for (score, value) in scores.iter().zip(&values) {
                out.iter_mut().zip(&value[kv]).for_each(|(out, value)| *out += score / sum * value);
            }
            attended.extend(out);
        }
        add(row, &product(get("self_attn.o_proj.weight").unwrap(), &attended, HIDDEN));
    }
}

fn rotate(head: &[f32], position: usize) -> Vec<f32> {
    let half = head.len() / 2;
    let mut out = head.to_vec();
    for pair in 0..half {
        let angle = position as f64 * 10000f64.powf(-2.0 * pair as f64 / head.len() as f64);
        let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
        out[pair] = head[pair] * cos - head[pair + half] * sin;
        out[pair + half] = head[pair + half] * cos + head[pair] * sin;
    }
    out
}

fn norm(row: &[f32], weight: &[f32]) -> Vec<f32> {
    let scale = 1.0 / (dot(row, row) / row.len() as f32 + 1e-6).sqrt();
    row.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
}

fn product(weights: &[f32], x: &[f32], outputs: usize) -> Vec<f32> {
    (0..outputs).map(|at| dot(&weights[at * x.len()..][..x.len()], x)).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &mut [f32], b: &[f32]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}
