import type { ChainId } from '../money/catalogue.ts';

/** The chains that no instance has reached for a while, so that requests which need one can be refused at once. */
export type SilentChains = () => Promise<readonly ChainId[]>;
