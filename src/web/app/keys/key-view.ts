import { endOfKey, type KeyIdleness } from '../../../accounts/keys/key-lifetime.ts';
import type { TreeKey } from '../../../accounts/keys/key-tree.ts';
import type { Scope } from '../../../kernel/http/define-route.ts';
import type { BudgetState } from '../../../policies/budget-states.ts';
import type { KeyPolicy } from '../../../policies/list-policies.ts';
import { sayBudget, sayPolicy } from '../../../policies/say-policy.ts';
import { amountText, dateTimeText, dayText } from '../../format.ts';
import { type Html, html, separated } from '../../html.ts';

const scopeWords: Readonly<Record<Scope, string>> = {
  read: 'read',
  pay: 'pay',
  withdraw: 'withdraw',
  manage: 'manage keys and the account',
};

/** What the key may do at all, and when it was made, used and ends. */
export function keyFacts(key: TreeKey, idleness: KeyIdleness): Html {
  const end = endOfKey(key, idleness);
  return separated([
    html`May ${key.scopes.map((scope) => scopeWords[scope]).join(', ')}`,
    html`created ${dayText(key.createdAt)}`,
    key.lastUsedAt === null ? html`never used` : html`last used ${dateTimeText(key.lastUsedAt)}`,
    Number.isFinite(end)
      ? html`ends ${dayText(new Date(end))}${key.expiresAt === null && ' if unused'}`
      : html`never ends`,
  ]);
}

/** What tells it from others of its name: the end of its secret, or where its client answers. */
export function keyMark({ last4, client }: Pick<TreeKey, 'last4' | 'client'>): Html {
  return client === null ? html`<code>…${last4}</code>` : html`<span class="tag">client on ${client}</span>`;
}

export function keyTags({ frozen, isFrozenItself, rotatedTo }: TreeKey): Html {
  const frozenTag = isFrozenItself ? 'frozen' : 'frozen by a key above';
  return html`${frozen && html` <span class="tag cold">${frozenTag}</span>`}${rotatedTo !== null && html` <span class="tag">replaced</span>`}`;
}

export function policySentence(found: KeyPolicy | undefined): string {
  if (found === undefined) return 'No limits of its own.';
  if (found.policy !== undefined) return sayPolicy(found.policy);
  return `A long policy of ${count(found.ruleCount, 'rule')} and ${count(found.budgetCount, 'budget')}. Open the key to read it.`;
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;

/** What was spent of budgets, with a bar. */
export function budgetList(budgets: readonly BudgetState[]): Html {
  return html`<ul class="budgets">${budgets.map((state) => {
    const { limit, spent, remaining, resetsAt, stated, id } = state;
    const share = limit.atomic === 0n ? 100 : Math.min(100, Number((spent.atomic * 100n) / limit.atomic));
    const name = stated === undefined ? id : sayBudget(stated);
    return html`<li><span class="who">${name}</span><span class="amount">${amountText(remaining)} left</span>
<progress max="100" value="${share}" aria-label="Spent of ${name}">${share} %</progress>
<span class="note">${amountText(spent)} of ${amountText(limit)} ${limit.asset} spent${resetsAt !== null && html`, resets ${dateTimeText(resetsAt)}`}</span></li>`;
  })}</ul>`;
}
