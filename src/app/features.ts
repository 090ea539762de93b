import { accounts } from '../accounts/feature.ts';
import { audit } from '../audit/feature.ts';
import { bridge } from '../bridge/feature.ts';
import { chainSteps } from '../chain-steps/feature.ts';
import { deposits } from '../deposits/feature.ts';
import { funding } from '../funding/feature.ts';
import { service } from '../http/feature.ts';
import { invoices } from '../invoices/feature.ts';
import { ledger } from '../ledger/feature.ts';
import { merchants } from '../merchants/feature.ts';
import { messages } from '../messages/feature.ts';
import { metrics } from '../metrics/feature.ts';
import { nano } from '../nano/feature.ts';
import { orders } from '../orders/feature.ts';
import { cctp } from '../providers/cctp/feature.ts';
import { circle } from '../providers/circle/feature.ts';
import { denyList } from '../providers/deny-list/feature.ts';
import { keys } from '../providers/keys/feature.ts';
import { coinbase } from '../providers/onramps/coinbase/feature.ts';
import { moonpay } from '../providers/onramps/moonpay/feature.ts';
import { smtp } from '../providers/smtp/feature.ts';
import { twilio } from '../providers/twilio/feature.ts';
import { purchases } from '../purchases/feature.ts';
import { reserves } from '../reserves/feature.ts';
import { sagas } from '../sagas/feature.ts';
import { shopping } from '../shopping/feature.ts';
import { swaps } from '../swaps/feature.ts';
import { transfers } from '../transfers/feature.ts';
import { treasury } from '../treasury/feature.ts';
import { wallets } from '../wallets/feature.ts';
import { web } from '../web/feature.ts';
import { webhooks } from '../webhooks/feature.ts';
import { withdrawals } from '../withdrawals/feature.ts';
import type { ListedFeature } from './listed-feature.ts';
import { sandbox } from './sandbox-feature.ts';

/** Every feature, once, in the order in which the reference is read. Whatever a feature brings comes from its line here. */
export const features: readonly ListedFeature[] = [
  accounts,
  audit,
  transfers,
  invoices,
  wallets,
  deposits,
  funding,
  withdrawals,
  bridge,
  swaps,
  shopping,
  orders,
  merchants,
  nano,
  purchases,
  treasury,
  webhooks,
  reserves,
  messages,
  ledger,
  sagas,
  chainSteps,
  service,
  metrics,
  sandbox,
  web,
  keys,
  circle,
  cctp,
  denyList,
  coinbase,
  moonpay,
  smtp,
  twilio,
];
