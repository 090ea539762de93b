import { createCipheriv } from 'node:crypto';

/** Unpredictable without the seed. The same seed gives the same numbers. */
export interface Random {
  /** Uniform, from 0 up to but not including `limit`, which is at most 2³². */
  below(limit: number): number;
  /** Where to cut an amount in two: from 0 to the amount, practically uniform. */
  cut(amount: bigint): bigint;
}

const drawnBytes = 65_536;

/** AES-256 in counter mode over a random seed is a fast cryptographic generator. */
export function createRandom(seed: Buffer): Random {
  const cipher = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
  const zeros = Buffer.alloc(drawnBytes);
  let pool = Buffer.alloc(0);
  let used = 0;

  function take(bytes: number): number {
    if (used + bytes > pool.length) {
      pool = cipher.update(zeros);
      used = 0;
    }
    used += bytes;
    return used - bytes;
  }

  return {
    below(limit) {
      // Rejects what lies above the last full multiple, which would bias the result.
      const fair = 2 ** 32 - (2 ** 32 % limit);
      for (;;) {
        const at = take(4);
        const drawn = pool.readUInt32BE(at);
        if (drawn < fair) return drawn % limit;
      }
    },
    cut(amount) {
      const at = take(16);
      const fraction = (pool.readBigUInt64BE(at) << 64n) | pool.readBigUInt64BE(at + 8);
      return ((amount + 1n) * fraction) >> 128n;
    },
  };
}
