import { BaseError, type Hex } from 'viem';
import { httpErrors } from '../src/kernel/http/errors.ts';
import { type Faucet, FaucetError } from './chains/faucet.ts';
import type { Mint } from './chains/mint-book.ts';

/** Mints, and translates failures into API errors. */
export async function mintOrRefuse(faucet: Faucet, mint: Mint): Promise<Hex> {
  try {
    return await faucet.mint(mint);
  } catch (error) {
    if (error instanceof FaucetError) {
      switch (error.fault) {
        case 'unknown_asset':
          throw httpErrors.invalid_request(`${error.message}.`, {
            errors: [{ path: 'currency', message: error.message }],
          });
        case 'other_mint':
          throw httpErrors.idempotency_mismatch();
        case 'refused':
          throw httpErrors.invalid_request('The token contract refuses transfers to this address.', {
            errors: [{ path: 'address', message: 'cannot receive this token' }],
          });
        case 'not_mined':
          throw httpErrors.unavailable(
            'The transaction was sent but is not mined yet. Check the balance before you retry.',
          );
      }
    }
    // The chains are starting again, or have moved to another process.
    if (error instanceof BaseError)
      throw httpErrors.unavailable('The local chain is unavailable right now. Try again.');
    throw error;
  }
}
