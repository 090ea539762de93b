import type { Queryable } from '../../kernel/db/database.ts';
import { type Balance, balancesOf } from '../../ledger/balances.ts';
import { toDecimalText } from '../../money/amount.ts';
import { chains, currencies, homeChain } from '../../money/catalogue.ts';
import { listTransfers, type TransferRecord } from '../../payments/transfers/list-transfers.ts';
import { dateTimeText } from '../format.ts';
import { type Html, html } from '../html.ts';
import type { Shell } from './shell.ts';

const linesShown = 10;

/** What the owner has, and what happened last. */
export function addOverviewPage(shell: Shell, { db }: { readonly db: Queryable }): void {
  shell.page('/app', async ({ session: { accountId, name, handle } }) => {
    const [balances, { transfers }] = await Promise.all([
      balancesOf(db, accountId),
      listTransfers(db, { accountId, limit: linesShown, cursor: undefined }),
    ]);
    const body = html`<h1>${name}</h1>
<p class="lead">Others pay you at <code>${handle}</code>.</p>
<h2>Balance</h2>
${balanceList(balances.filter(({ kind }) => kind === 'available'))}
<h2>Latest</h2>
${transfers.length === 0 ? html`<p class="empty">Nothing yet. What your agents pay and receive appears here.</p>` : html`<ul class="lines">${transfers.map(line)}</ul>`}`;
    return { title: 'Overview', place: '/app', body };
  });
}

/** USDC and EURC always, anything else only if there is some. */
function balanceList(balances: readonly Balance[]): Html {
  const spendable = currencies.map((asset) => ({
    asset,
    text: toText(balances.find((one) => one.chain === homeChain && one.asset === asset)),
    where: undefined,
  }));
  const others = balances
    .filter(
      ({ chain, asset, balance }) =>
        balance.atomic > 0n && !(chain === homeChain && currencies.includes(asset as never)),
    )
    .map((one) => ({ asset: one.asset, text: toText(one), where: chains[one.chain].name }));
  return html`<dl class="balances">${[...spendable, ...others].map(
    ({ asset, text, where }) =>
      html`<div><dt>${asset}${where !== undefined && html` <span class="where">on ${where}</span>`}</dt><dd>${text}</dd></div>`,
  )}</dl>`;
}

function toText(balance: Balance | undefined): string {
  return balance === undefined ? '0' : toDecimalText(balance.balance);
}

function line({ direction, amount, currency, counterparty, type, description, createdAt }: TransferRecord): Html {
  const sign = direction === 'sent' ? '−' : '+';
  return html`<li class="${direction}"><span class="who">${counterparty?.name ?? type.replaceAll('_', ' ')}</span>
<span class="amount">${sign}${String(amount)} ${currency}</span>
<span class="note">${dateTimeText(new Date(createdAt))}${description !== null && html` · ${description}`}</span></li>`;
}
