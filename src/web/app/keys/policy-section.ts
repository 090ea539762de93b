import type { TreeKey } from '../../../accounts/keys/key-tree.ts';
import type { Fields } from '../../../kernel/http/parse-form.ts';
import { Problem } from '../../../kernel/http/problem.ts';
import { currencies } from '../../../money/catalogue.ts';
import { removePolicy, setPolicy } from '../../../policies/change-policy.ts';
import { type Operation, operations } from '../../../policies/consent.ts';
import { findPolicy } from '../../../policies/find-policy.ts';
import type { KeyPolicy } from '../../../policies/list-policies.ts';
import type { Policy } from '../../../policies/policy.ts';
import { codeBlock, jsonCode } from '../../code.ts';
import { type Html, html } from '../../html.ts';
import { choice, errorSummary, type Faults, fieldNote, invalid } from '../fields.ts';
import type { OwnerPage, Shell, Visit } from '../shell.ts';
import { idIn, type KeyPageParts, ownerActor } from './key-parts.ts';
import {
  emptyForm,
  faultsOf,
  formOf,
  guess,
  limitWindows,
  type PolicyFault,
  type PolicyForm,
  policyOf,
  readPolicyForm,
} from './policy-form.ts';

/** The page again with what is wrong, and the form as it was entered, if it was sent. */
export interface Retry {
  readonly form?: PolicyForm;
  readonly faults: Faults;
  readonly status: number;
}

type Again = (visit: Visit, retry: Retry) => Promise<OwnerPage>;

const changed =
  'The policy was changed meanwhile, so nothing was saved. Above is what it says now. If you save the form below, it replaces that.';

/** The forms send the version that they were made from, as If-Match does over the API. An empty one means that there was no policy. */
export function addPolicyForms(shell: Shell, { db, secrets, changes }: KeyPageParts, again: Again): void {
  const save = async (visit: Visit, fields: Fields) => {
    const [actor, key, form] = [ownerActor(visit), idIn(visit), readPolicyForm(fields)];
    const { accountId } = actor;
    return orAgain(visit, form, async () => {
      const read = policyOf(form, await currentPolicy(accountId, key));
      if ('faults' in read) return again(visit, { form, faults: byField(read.faults), status: 400 });
      const change = { actor, key, ifMatch: fields['version'] || null };
      await changes.everywhere(accountId, (tx) => setPolicy(tx, secrets, change, read.policy));
      return `/app/keys/${key}`;
    });
  };
  shell.form('/app/keys/:id/policy', save, { proof: true });

  const remove = async (visit: Visit, fields: Fields) => {
    const [actor, key] = [ownerActor(visit), idIn(visit)];
    return orAgain(visit, undefined, async () => {
      const change = { actor, key, ifMatch: fields['version'] || null };
      await changes.everywhere(actor.accountId, (tx) => removePolicy(tx, secrets, change));
      return `/app/keys/${key}`;
    });
  };
  shell.form('/app/keys/:id/policy/remove', remove, { proof: true });

  /** What can be mended in the form is told on the page, and everything else on a page of its own. */
  async function orAgain(visit: Visit, form: PolicyForm | undefined, change: () => Promise<string | OwnerPage>) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof Problem) || !mendable.has(error.code)) throw error;
      const isStale = error.code === 'policy_changed';
      const faults = byField(isStale ? [{ field: null, message: changed }] : faultsOf(error));
      return again(visit, { ...(form && { form }), faults, status: error.status });
    }
  }

  async function currentPolicy(accountId: bigint, key: string): Promise<Policy | undefined> {
    try {
      return (await findPolicy(db, { accountId }, key)).policy;
    } catch (error) {
      if (error instanceof Problem && error.code === 'policy_not_found') return undefined;
      throw error;
    }
  }
}

const mendable = new Set(['policy_changed', 'invalid_request', 'daily_cap_reached']);

export const byField = (faults: readonly PolicyFault[]): Faults =>
  new Map(faults.map(({ field, message }) => [field ?? '', message]));

interface PolicySection {
  readonly key: Pick<TreeKey, 'id' | 'scopes'>;
  readonly own: KeyPolicy | undefined;
  readonly base: string;
  readonly retry?: Retry;
}

export function policySection({ field, session }: Visit, { key, own, base, retry }: PolicySection): Html {
  const path = `${base}/app/keys/${key.id}/policy`;
  const version = html`${field}<input type="hidden" name="version" value="${own?.version ?? ''}">`;
  const exact = own?.policy && formOf(own.policy);
  const form = retry?.form ?? exact ?? (own?.policy ? guess(own.policy) : emptyForm);
  return html`<h2 id="limits">What it may spend</h2>
${!key.scopes.some((scope) => scope === 'pay' || scope === 'withdraw') && html`<p class="remark">This key may only look, so it pays nothing, whatever its limits are.</p>`}
${
  own?.policy !== undefined &&
  exact === undefined &&
  html`<p class="remark">This policy was set over the API and says more than this form can. Saving the form replaces it.</p>
<details><summary>The policy as JSON</summary>
${codeBlock('Policy', jsonCode({ ...(own.policy.rules && { rules: own.policy.rules }), budgets: own.policy.budgets }))}</details>`
}
${
  session.isProved
    ? html`<form method="post" action="${path}">
${version}${policyFields(form, retry?.faults ?? new Map())}
<button class="button">Save</button>
</form>`
    : html`<p class="then"><a class="button" href="${base}/app/confirm?next=/app/keys/${key.id}">Enter your password to change it</a></p>`
}
${
  own !== undefined &&
  session.isProved &&
  html`<details><summary>Remove all limits of this key</summary>
<p>The limits of the keys above it still apply, and what was spent is not forgotten.</p>
<form method="post" action="${path}/remove">${version}<button class="button danger">Remove the limits</button></form></details>`
}`;
}

const windowNames = { day: 'A day', week: 'A week', month: 'A month' } as const;

const operationNames: Readonly<Record<Operation, string>> = {
  transfer: 'Transfers to people',
  invoice: 'Paying invoices',
  withdraw: 'Withdrawals to addresses outside',
  bridge: 'Transfers to other chains',
  swap: 'Swaps',
  order: 'Orders in shops',
  call: 'Paid calls of APIs',
};

/** The fields of a policy, for any form that sets one. */
export function policyFields(form: PolicyForm, faults: Faults): Html {
  const { currency, limits, beyond, askAbove, asksNew } = form;
  const amount = (name: string, value: string) =>
    html`<input id="${name}" name="${name}" value="${value}" inputmode="decimal" autocomplete="off" maxlength="40" placeholder="no limit"${invalid(faults, name)}>`;
  return html`${errorSummary(faults)}
<fieldset class="limits"><legend>At most</legend>
<div><label for="currency">Currency</label>
<select id="currency" name="currency"${invalid(faults, 'currency')}>${currencies.map((one) => html`<option${one === currency && html` selected`}>${one}</option>`)}</select>
${fieldNote(faults, 'currency')}</div>
${limitWindows.map(
  (window) => html`<div><label for="${window}">${windowNames[window]}</label>
${amount(window, limits[window])}
${fieldNote(faults, window)}</div>`,
)}</fieldset>
<p class="rule">It spends only this currency. Days begin at midnight UTC, weeks on Monday.</p>
<fieldset${invalid(faults, 'beyond')}><legend>Beyond that</legend>
${choice({ type: 'radio', name: 'beyond', value: 'deny', isChosen: beyond === 'deny', label: 'Refuse the payment' })}
${choice({ type: 'radio', name: 'beyond', value: 'ask', isChosen: beyond === 'ask', label: 'Ask me' })}
${fieldNote(faults, 'beyond')}</fieldset>
<label for="askAbove">Ask me before one payment above</label>
<input id="askAbove" name="askAbove" value="${askAbove}" inputmode="decimal" autocomplete="off" maxlength="40" placeholder="never"${invalid(faults, 'askAbove')}>
${fieldNote(faults, 'askAbove', 'With its fee. 0 asks before every payment.')}
${choice({ type: 'checkbox', name: 'askNew', isChosen: asksNew, label: 'Ask me before paying anyone new', note: 'Anyone that this account has never paid.' })}
<fieldset${invalid(faults, 'operations')}><legend>What it may pay for</legend>
${operations.map((operation) =>
  choice({
    type: 'checkbox',
    name: `may-${operation}`,
    isChosen: form.operations.includes(operation),
    label: operationNames[operation],
  }),
)}
${fieldNote(faults, 'operations', 'Everything else is refused.')}</fieldset>`;
}
