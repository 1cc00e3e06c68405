//! Records as the benchmark makes them: see ../../../record.go.

/// Scatters the bits of a number, which no other number then has.
fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

pub fn key(id: u64) -> Vec<u8> {
    let mut key = mix(id + 1).to_be_bytes().to_vec();
    key.extend(id.to_be_bytes());
    key
}

pub fn value(id: u64) -> Vec<u8> {
    let mut value = Vec::with_capacity(384);
    for i in 0..48u64 {
        value.extend(mix(mix(id + 1).wrapping_add(i)).to_le_bytes());
    }
    value
}
