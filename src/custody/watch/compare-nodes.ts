import type { Hex } from 'viem';

/** A transfer as a node shows it, in a block of that node's own chain. */
export interface ShownTransfer {
  readonly atomic: bigint;
  readonly sender: Hex;
  /** What its receipt proves about it. */
  readonly proofs: readonly string[];
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** No reorg can remove that block. */
  readonly isFinal: boolean;
}

/** What one node says about a transfer, asked alone. */
export interface NodeAnswer {
  readonly host: string;
  /** `otherwise`: the node answers, but shows no such transfer there. */
  readonly says: 'shown' | 'otherwise' | 'silent';
  readonly shown?: ShownTransfer;
}

export type Verdict =
  | { readonly is: 'proven'; readonly shown: Omit<ShownTransfer, 'isFinal'> }
  | {
      readonly is: 'doubtful';
      readonly because: string;
      /** No node contradicts it: it only needs to become final. */
      readonly onlyTime?: true;
    };

/**
 * Two independent nodes that show the same transfer in the same block prove it, whatever a third one says. Nodes of one
 * host count as one.
 */
export function compareNodes(testimony: readonly NodeAnswer[]): Verdict {
  const all = testimony.flatMap(({ host, shown }) => (shown === undefined ? [] : [{ host, ...shown }]));
  for (const { host: _, isFinal: __, ...shown } of all) {
    const agreeing = all.filter((other) => isSame(other, shown));
    if (hostsOf(agreeing).size < 2) continue;
    if (hostsOf(agreeing.filter(({ isFinal }) => isFinal)).size >= 2) return { is: 'proven', shown };
    return { is: 'doubtful', because: 'its block is not final yet', onlyTime: true };
  }
  return { is: 'doubtful', because: whyNot(testimony) };
}

function isSame(one: Omit<ShownTransfer, 'isFinal'>, other: Omit<ShownTransfer, 'isFinal'>): boolean {
  return (
    one.atomic === other.atomic &&
    one.sender === other.sender &&
    one.proofs.join() === other.proofs.join() &&
    one.blockNumber === other.blockNumber &&
    one.blockHash === other.blockHash
  );
}

function whyNot(testimony: readonly NodeAnswer[]): string {
  if (hostsOf(testimony).size < 2) return 'only one host is configured: the operator has to decide';
  const shown = testimony.filter(({ says }) => says === 'shown');
  if (testimony.every(({ says }) => says === 'silent')) return 'no node answers';
  if (shown.length === 0) return 'no node shows it any more';
  if (hostsOf(shown).size > 1) return 'the nodes disagree about it';
  return testimony.some(({ says }) => says === 'otherwise')
    ? `only ${[...hostsOf(shown)].join(' and ')} shows it`
    : 'no second node answers';
}

export function hostsOf(some: readonly Pick<NodeAnswer, 'host'>[]): ReadonlySet<string> {
  return new Set(some.map(({ host }) => host));
}
