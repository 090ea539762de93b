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

export interface PurchaseSettings {
  /** The timeout of each request to a seller. */
  readonly timeoutMs: number;
  /** The longest validity of an authorization, and so the longest time that money is held. */
  readonly mostSeconds: number;
  /** The target balance of the wallet that pays sellers. */
  readonly float: Amount;
}

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

export function meansOf(networks: Networks): { readonly network: Network; readonly token: Token } {
  const network = networks.get(homeChain);
  const token = network && tokenOf(network, 'USDC');
  if (network === undefined || token === undefined) throw new Error(`there is no USDC on ${homeChain}`);
  return { network, token };
}
