import { concat, type Hex, keccak256 } from 'viem';
import { attesters } from './accounts.ts';

/** All attesters' signatures over a message, in the order of their addresses. */
export async function attest(message: Hex): Promise<Hex> {
  const hash = keccak256(message);
  return concat(await Promise.all(attesters.map((attester) => attester.sign({ hash }))));
}
