import type { Clock } from '../../kernel/clock.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { type Database, type Queryable, type Transaction, violates } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type AuditAction, type AuditActor, type AuditEntry, recordAudit } from '../audit/record.ts';
import { mailOwner, type Notice } from '../mail-owner.ts';
import { holdProvedSession, type OwnerSession } from '../sessions/owner-session.ts';
import { spendChallenge } from './challenge.ts';
import { factorErrors } from './errors.ts';
import { hasSecondFactor, readFactors } from './factors.ts';
import { checkNewPasskey, type PasskeyAnswer, type StoredPasskey } from './passkey.ts';
import { makeRecoveryCodes } from './recovery-codes.ts';
import { matchingStep, newTotpSecret } from './totp.ts';

export interface ChangeParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/** The owner on the pages, who has just proved to be there. */
export interface ChangingOwner {
  readonly session: OwnerSession;
  readonly address: string;
}

/** Recovery codes, when the change made some. They are shown now or never. */
type NewCodes = readonly string[] | undefined;

/** Begins the setup of an authenticator app, again if need be. Nothing is asked for at a sign-in before a first code was right. */
export function beginTotp(parts: ChangeParts, owner: ChangingOwner): Promise<Buffer> {
  return change(parts, owner, async (tx) => {
    const secret = newTotpSecret();
    const { rowCount } = await tx.query(
      `INSERT INTO totp_secrets AS t (account_id, sealed) VALUES ($1, $2)
       ON CONFLICT (account_id) DO UPDATE SET sealed = $2, last_step = 0 WHERE t.active_at IS NULL`,
      [owner.session.accountId, parts.secrets.seal('totp-secrets', secret.toString('hex'))],
    );
    if (rowCount !== 1) throw factorErrors.totp_already_on();
    return secret;
  });
}

/** Either it is on, or the code was wrong and the secret is shown again. */
type TotpTurnedOn = { readonly codes: NewCodes } | { readonly again: Buffer };

export function turnTotpOn(parts: ChangeParts, owner: ChangingOwner, code: string): Promise<TotpTurnedOn> {
  const { accountId } = owner.session;
  return change(parts, owner, async (tx, { tier }): Promise<TotpTurnedOn> => {
    const { rows } = await tx.query<{ sealed: Buffer }>(
      'SELECT sealed FROM totp_secrets WHERE account_id = $1 AND active_at IS NULL',
      [accountId],
    );
    if (rows[0] === undefined) throw factorErrors.totp_not_begun();
    const secret = Buffer.from(parts.secrets.open('totp-secrets', rows[0].sealed), 'hex');
    const step = matchingStep({ secret, code: code.replaceAll(/\s/g, ''), ms: parts.clock.now(), lastStep: 0n });
    if (step === undefined) return { again: secret };
    await countToday(tx, { accountId, tier, session: owner.session.id }, 'settings');
    const codes = await firstCodes(tx, parts, accountId);
    await tx.query('UPDATE totp_secrets SET active_at = now(), last_step = $2 WHERE account_id = $1', [
      accountId,
      step,
    ]);
    await tell(tx, parts, owner, {
      action: 'totp.on',
      subject: 'Codes of an authenticator app are on',
      text: 'Signing in to your account now takes a code of your authenticator app as well, and so do approving and creating keys that may withdraw.',
    });
    return { codes };
  });
}

export function turnTotpOff(parts: ChangeParts, owner: ChangingOwner): Promise<void> {
  return change(parts, owner, async (tx) => {
    const { accountId } = owner.session;
    const { rowCount } = await tx.query('DELETE FROM totp_secrets WHERE account_id = $1 AND active_at IS NOT NULL', [
      accountId,
    ]);
    if (rowCount === 0) return;
    await tell(tx, parts, owner, {
      action: 'totp.off',
      subject: 'Codes of an authenticator app are off',
      text: `Codes of your authenticator app are no longer asked for.${await endCodesWithoutFactor(tx, accountId)}`,
    });
  });
}

export function renewRecoveryCodes(parts: ChangeParts, owner: ChangingOwner): Promise<readonly string[]> {
  const { accountId } = owner.session;
  return change(parts, owner, async (tx, { tier }) => {
    if (!hasSecondFactor(await readFactors(tx, accountId))) throw factorErrors.no_second_factor();
    await countToday(tx, { accountId, tier, session: owner.session.id }, 'settings');
    const codes = await makeRecoveryCodes(tx, parts.secrets, accountId);
    await tell(tx, parts, owner, {
      action: 'recovery_codes.made',
      subject: 'New recovery codes were made',
      text: 'The recovery codes that you had no longer work.',
    });
    return codes;
  });
}

export interface ListedPasskey extends Pick<StoredPasskey, 'id' | 'credentialId' | 'transports'> {
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export async function listPasskeys(db: Queryable, accountId: bigint): Promise<readonly ListedPasskey[]> {
  const { rows } = await db.query<ListedPasskey>(
    `SELECT id, credential_id, transports, name, created_at, last_used_at FROM passkeys WHERE account_id = $1 ORDER BY id`,
    [accountId],
  );
  return rows;
}

const mostPasskeys = 20;

export async function addPasskey(
  parts: ChangeParts,
  owner: ChangingOwner,
  { name, answer }: { readonly name: string; readonly answer: PasskeyAnswer },
): Promise<NewCodes> {
  const { accountId } = owner.session;
  const { credentialId, publicKey, counter, transports, challenge } = await checkNewPasskey(parts, answer);
  const add = change(parts, owner, async (tx, { tier }) => {
    if ((await readFactors(tx, accountId)).passkeys >= mostPasskeys) throw factorErrors.too_many_passkeys();
    await countToday(tx, { accountId, tier, session: owner.session.id }, 'settings');
    if (!(await spendChallenge(tx, challenge))) throw factorErrors.passkey_refused();
    const codes = await firstCodes(tx, parts, accountId);
    const id = newId('pky');
    await tx.query(
      `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, transports, name)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [id, accountId, credentialId, publicKey, counter, transports, name],
    );
    await tell(tx, parts, owner, {
      action: 'passkey.added',
      details: { passkey: id, name },
      subject: 'A passkey was added',
      text: `The passkey "${name}" can now sign in to your account and approve payments.`,
    });
    return codes;
  });
  return add.catch((error: unknown) => {
    throw violates(error, 'passkeys_credential_key') ? factorErrors.passkey_known() : error;
  });
}

interface NamedPasskey {
  readonly id: string;
  readonly name: string;
}

export function renamePasskey(parts: ChangeParts, owner: ChangingOwner, { id, name }: NamedPasskey): Promise<void> {
  const { accountId } = owner.session;
  return change(parts, owner, async (tx, { tier }) => {
    await countToday(tx, { accountId, tier, session: owner.session.id }, 'settings');
    const former = await tx.query<{ name: string }>(
      'SELECT name FROM passkeys WHERE id = $1 AND account_id = $2 FOR UPDATE',
      [id, accountId],
    );
    if (former.rows[0] === undefined) throw factorErrors.passkey_not_found();
    await tx.query('UPDATE passkeys SET name = $2 WHERE id = $1', [id, name]);
    await tell(tx, parts, owner, {
      action: 'passkey.renamed',
      details: { passkey: id, name },
      subject: 'A passkey was renamed',
      text: `The passkey "${former.rows[0].name}" is now called "${name}".`,
    });
  });
}

export function removePasskey(parts: ChangeParts, owner: ChangingOwner, id: string): Promise<void> {
  const { accountId } = owner.session;
  return change(parts, owner, async (tx) => {
    const { rows } = await tx.query<{ name: string }>(
      'DELETE FROM passkeys WHERE id = $1 AND account_id = $2 RETURNING name',
      [id, accountId],
    );
    const [removed] = rows;
    if (removed === undefined) throw factorErrors.passkey_not_found();
    await tell(tx, parts, owner, {
      action: 'passkey.removed',
      details: { passkey: id, name: removed.name },
      subject: 'A passkey was removed',
      text: `The passkey "${removed.name}" no longer works for your account.${await endCodesWithoutFactor(tx, accountId)}`,
    });
  });
}

/** For an owner who has lost everything, by the operator. False when there was no second factor. */
export async function removeSecondFactor(
  tx: Transaction,
  secrets: Secrets,
  { accountId, by }: { readonly accountId: bigint; readonly by: AuditActor },
): Promise<boolean> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const had = hasSecondFactor(await readFactors(tx, accountId));
  for (const table of ['totp_secrets', 'passkeys', 'recovery_codes'])
    await tx.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
  if (!had) return false;
  await recordAudit(tx, { accountId, action: 'second_factor.removed', by });
  await mailOwner(tx, secrets, accountId, {
    subject: 'Your second factor was removed',
    text: 'The operator of the service removed the second factor of your account. Your password alone signs in until you set up another one at /app/security.',
  });
  return true;
}

interface Owner {
  readonly tier: Caller['tier'];
}

/** The account's row is locked first, so that a sign-in sees the second factor either before the change or after it. */
function change<Result>(
  { db }: ChangeParts,
  { session }: ChangingOwner,
  work: (tx: Transaction, owner: Owner) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<Owner>('SELECT tier FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [
      session.accountId,
    ]);
    if (rows[0] === undefined || !(await holdProvedSession(tx, session))) throw factorErrors.proof_needed();
    return work(tx, rows[0]);
  });
}

/** The first factor comes with recovery codes. */
async function firstCodes(tx: Transaction, { secrets }: ChangeParts, accountId: bigint): Promise<NewCodes> {
  if (hasSecondFactor(await readFactors(tx, accountId))) return undefined;
  return makeRecoveryCodes(tx, secrets, accountId);
}

/** Recovery codes go with the last factor. */
async function endCodesWithoutFactor(tx: Transaction, accountId: bigint): Promise<string> {
  if (hasSecondFactor(await readFactors(tx, accountId))) return '';
  await tx.query('DELETE FROM recovery_codes WHERE account_id = $1', [accountId]);
  return ' Your account has no second factor any more, and its recovery codes are void.';
}

interface Told extends Notice, Pick<AuditEntry, 'details'> {
  readonly action: AuditAction;
}

async function tell(
  tx: Transaction,
  { secrets }: ChangeParts,
  { session: { accountId }, address }: ChangingOwner,
  { action, details = {}, subject, text }: Told,
): Promise<void> {
  await recordAudit(tx, { accountId, action, by: { address }, details });
  await mailOwner(tx, secrets, accountId, { subject, text });
}
