import type { Hex } from 'viem';
import type { ChainId } from '../../money/catalogue.ts';

type Verdict = { readonly clear: true } | { readonly clear: false; readonly reason: string };

/** Asked about every outside address before money goes there. Its adapters are in custody/adapters/. */
export interface Screening {
  check(question: { readonly chain: ChainId; readonly address: Hex }): Promise<Verdict>;
}
