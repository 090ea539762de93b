import { freezeKey, unfreezeKey } from '../../../accounts/keys/freeze-key.ts';
import { findTreeKey, type TreeKey } from '../../../accounts/keys/key-tree.ts';
import { revokeKeyEverywhere } from '../../../accounts/keys/revoke-keys.ts';
import { listBudgets } from '../../../policies/budget-states.ts';
import { type KeyPolicy, listPolicies } from '../../../policies/list-policies.ts';
import { sayPolicy } from '../../../policies/say-policy.ts';
import { type Html, html } from '../../html.ts';
import type { OwnerPage, Shell, Visit } from '../shell.ts';
import { idIn, type KeyPageParts, ownerActor } from './key-parts.ts';
import { budgetList, keyFacts, keyTags } from './key-view.ts';
import { addPolicyForms, policySection, type Retry } from './policy-section.ts';

/** One key: what it may spend and has spent, and everything that its owner can change about it. */
export function addKeyPage(shell: Shell, parts: KeyPageParts): void {
  const { context } = parts;
  shell.page('/app/keys/:id', (visit) => keyPage(parts, visit));
  addPolicyForms(shell, parts, (visit, retry) => keyPage(parts, visit, retry));

  shell.form('/app/keys/:id/freeze', async (visit) => {
    await freezeKey(parts, { actor: ownerActor(visit), key: idIn(visit) });
    return `/app/keys/${idIn(visit)}`;
  });
  const unfreeze = async (visit: Visit) => {
    await unfreezeKey(parts, { actor: ownerActor(visit), key: idIn(visit) });
    return `/app/keys/${idIn(visit)}`;
  };
  shell.form('/app/keys/:id/unfreeze', unfreeze, { proof: true });
  shell.form('/app/keys/:id/revoke', async (visit, { webhooks }) => {
    const actor = ownerActor(visit);
    await revokeKeyEverywhere(parts, { actor, key: idIn(visit), webhooks: webhooks === 'on' ? 'end' : 'keep' });
    return '/app/keys';
  });

  async function keyPage({ db, clock, idleMs }: KeyPageParts, visit: Visit, retry?: Retry): Promise<OwnerPage> {
    const { accountId } = visit.session;
    const key = await findTreeKey(db, { accountId, id: idIn(visit), clock, idleMs });
    const [policies, budgets] = await Promise.all([
      listPolicies(db, { accountId, places: key.path, length: 'any' }),
      listBudgets(db, { accountId, keyId: key.id }),
    ]);
    const own = policies.find(({ place }) => place === key.place);
    const spent = budgets.filter(({ place }) => place === key.place);
    const { base } = context();
    const body = html`<p class="back"><a href="${base}/app/keys">All keys</a></p>
<h1>${key.name}${keyTags(key)}</h1>
<p class="sentence lead">${own?.policy === undefined ? 'This key has no limits of its own.' : sayPolicy(own.policy)}</p>
${limitsAbove(
  policies.filter(({ place }) => place !== key.place),
  base,
)}
<p class="facts">${key.client === null ? html`Ends in <code>${key.last4}</code>` : html`Connected client, on ${key.client}`} <span class="dot">·</span> ${keyFacts(key, { idleMs })}</p>
${spent.length > 0 && html`<h2>Spent</h2>${budgetList(spent)}`}
${policies.map((policy) => {
  const above = budgets.filter(({ place }) => place === policy.place && place !== key.place);
  return above.length > 0 && html`<h3>With the other keys below ${policy.name}</h3>${budgetList(above)}`;
})}
${policySection(visit, { key, own, base, ...(retry && { retry }) })}
${endings(key, visit, base)}`;
    return { title: key.name, place: '/app/keys', body, ...(retry && { status: retry.status }) };
  }
}

function limitsAbove(policies: readonly KeyPolicy[], base: string): Html {
  return html`${policies
    .toReversed()
    .map(
      ({ key, name, policy }) =>
        html`<p class="above">Also within the limits of <a href="${base}/app/keys/${key}">${name}</a>: ${policy && sayPolicy(policy)}</p>`,
    )}`;
}

function endings({ id, client, frozen, isFrozenItself, keysBelow }: TreeKey, { field }: Visit, base: string): Html {
  const path = `${base}/app/keys/${id}`;
  const below =
    keysBelow === 0 ? '' : keysBelow === 1 ? ' and the key below it' : ` and the ${keysBelow} keys below it`;
  const freeze = isFrozenItself
    ? html`<p>This key${below} can pay nothing now.</p>
<form method="post" action="${path}/unfreeze">${field}<button class="button plain">Unfreeze</button></form>`
    : html`<p>Freezing stops the payments of this key${below} at once, open orders and withdrawals too. You can end it at any time.${frozen && ' A key above this one is frozen now.'}</p>
<form method="post" action="${path}/freeze">${field}<button class="button plain">Freeze</button></form>`;
  return html`<h2>Stop</h2>
${freeze}
<details><summary>${client === null ? 'Revoke this key for ever' : 'Disconnect this client'}</summary>
<p>This ${client === null ? 'key' : 'connection'}${below} will never work again. Nothing can undo it. Your money stays.</p>
<form method="post" action="${path}/revoke">${field}
<label class="choice"><input type="checkbox" name="webhooks"><span>Also delete the webhooks that were created with it</span></label>
<button class="button danger">${client === null ? 'Revoke' : 'Disconnect'}</button></form></details>
<p class="hint"><a href="${base}/app/keys/new?parent=${id}">Create a key below this one</a></p>`;
}
