import { type KeyNode, listTreeKeys, mostInTree, type TreeKey, toTree } from '../../../accounts/keys/key-tree.ts';
import { type BudgetState, listBudgetsAt } from '../../../policies/budget-states.ts';
import { type KeyPolicy, listPolicies } from '../../../policies/list-policies.ts';
import { type Html, html } from '../../html.ts';
import type { Shell } from '../shell.ts';
import type { KeyPageParts } from './key-parts.ts';
import { budgetList, keyFacts, keyMark, keyTags, policySentence } from './key-view.ts';

interface Shown extends Pick<KeyPageParts, 'idleMs'> {
  readonly base: string;
  readonly policies: ReadonlyMap<string, KeyPolicy>;
  readonly budgets: ReadonlyMap<string, readonly BudgetState[]>;
}

/** The keys of the account, as the tree that they are. */
export function addKeysPage(shell: Shell, { db, clock, idleMs, context }: KeyPageParts): void {
  shell.page('/app/keys', async ({ session: { accountId } }) => {
    const keys = await listTreeKeys(db, { accountId, clock, idleMs });
    const places = [...new Set(keys.map(({ place }) => place))];
    const [policies, budgets] = await Promise.all([
      listPolicies(db, { accountId, places, length: 'short' }),
      listBudgetsAt(db, places),
    ]);
    const { base } = context();
    const shown = {
      idleMs,
      base,
      policies: new Map(policies.map((policy) => [policy.place, policy])),
      budgets: groupByPlace(budgets),
    };
    const body = html`<div class="heading"><h1>Keys</h1><a class="button" href="${base}/app/keys/new">Create a key</a></div>
<p class="lead">Give each agent its own key, and say what it may spend. A key spends within its own limits and those of the keys above it.</p>
${
  keys.length === 0
    ? html`<p class="empty">There is no key. Create one for your first agent.</p>`
    : html`<ul class="keys">${toTree(keys).map((node) => branch(node, shown))}</ul>`
}
${keys.length === mostInTree && html`<p class="hint">The ${mostInTree} newest keys are shown.</p>`}`;
    return { title: 'Keys', place: '/app/keys', body };
  });
}

function groupByPlace(budgets: readonly BudgetState[]): Map<string, BudgetState[]> {
  const groups = new Map<string, BudgetState[]>();
  for (const budget of budgets) groups.set(budget.place, [...(groups.get(budget.place) ?? []), budget]);
  return groups;
}

function branch({ key, below }: KeyNode<TreeKey>, shown: Shown): Html {
  const { base, policies, budgets, idleMs } = shown;
  const own = budgets.get(key.place) ?? [];
  return html`<li><div class="key"><p class="who"><a href="${base}/app/keys/${key.id}">${key.name}</a> ${keyMark(key)}${keyTags(key)}</p>
<p class="sentence">${policySentence(policies.get(key.place))}</p>
${own.length > 0 && budgetList(own)}
<p class="facts">${keyFacts(key, { idleMs })}</p></div>
${below.length > 0 && html`<ul>${below.map((node) => branch(node, shown))}</ul>`}</li>`;
}
