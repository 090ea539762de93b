import type { ChainId } from '../money/catalogue.ts';

/** The chains that have not answered to anybody who watches them for a while: what needs them now would only wait. */
export type SilentChains = () => Promise<readonly ChainId[]>;
