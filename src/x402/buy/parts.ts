import type { Network, Networks, Token } from '../../chains/network.ts';
import { tokenOf } from '../../chains/network.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Amount } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';

/** What the operator has said of purchases. */
export interface PurchaseSettings {
  /** How long a seller has for each answer. */
  readonly timeoutMs: number;
  /** How long a seller can take a payment at most, and so how long money can be held. */
  readonly mostSeconds: number;
  /** What the wallet that pays is filled up to. */
  readonly float: Amount;
}

/** What a purchase works with, on its way. */
export interface PurchaseParts extends PurchaseSettings {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint;
}

/** The chain and the token that sellers are paid with. */
export function meansOf(networks: Networks): { readonly network: Network; readonly token: Token } {
  const network = networks.get(homeChain);
  const token = network && tokenOf(network, 'USDC');
  if (network === undefined || token === undefined) throw new Error(`there is no USDC on ${homeChain}`);
  return { network, token };
}
