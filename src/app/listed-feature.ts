import type { OnAccountClosing, UnderWayOf } from '../accounts/closing/on-account-closing.ts';
import type { OnKeyRotated, OnKeysEnded } from '../accounts/keys/on-keys-ended.ts';
import type { Config } from '../config.ts';
import type { OnDeposits } from '../deposits/on-deposits.ts';
import type { EventType } from '../event-types.ts';
import type { Feature, Parts } from '../feature.ts';
import { allSealed, type Sealed } from '../operator-secret/sealed.ts';
import type { CircleParts } from '../providers/circle/feature.ts';
import { refuseTwice } from '../refuse-twice.ts';
import type { Saga } from '../sagas/define-saga.ts';
import type { SandboxParts } from '../sandbox/feature.ts';

/** What only adapters may ask for, beside the parts that every feature stands on. */
export interface AdapterParts extends CircleParts, SandboxParts {}

/** A feature as the list holds it: nothing is known of its settings any more than that they are its own. */
export type ListedFeature = Feature<unknown, AdapterParts>;

/** What the environment says about one feature. */
export function settingsOf<Own>(config: Config, { name }: Feature<Own, never>): Own {
  return config.settings.get(name) as Own;
}

/** Asks each feature in turn, with its own settings, and puts what they answer one after the other. */
export function gather<Item>(
  features: readonly ListedFeature[],
  config: Config,
  ask: (feature: ListedFeature, settings: unknown) => readonly Item[] | undefined,
): Item[] {
  return features.flatMap((feature) => ask(feature, settingsOf(config, feature)) ?? []);
}

export function eventsOf(features: readonly ListedFeature[]): readonly EventType[] {
  const events = features.flatMap((feature) => feature.events ?? []);
  refuseTwice(
    'event',
    events.map(({ name }) => name),
  );
  return events;
}

export function sagasOf(features: readonly ListedFeature[]): readonly Saga[] {
  const sagas = features.flatMap((feature) => feature.sagas ?? []).map(({ saga }) => saga);
  refuseTwice(
    'saga',
    sagas.map(({ name }) => name),
  );
  return sagas;
}

/** Everything that all of them seal with the operator's secret. */
export function sealedOf(features: readonly ListedFeature[]): readonly Sealed[] {
  return allSealed(features.flatMap(({ sealed }) => sealed ?? []));
}

/** What all of them do when something is deposited, one after the other and always in the same order. */
export function onDepositsOf(features: readonly ListedFeature[]): OnDeposits {
  const told = features.flatMap(({ onDeposits }) => onDeposits ?? []);
  return async (tx, chain, deposits) => {
    for (const onDeposits of told) await onDeposits(tx, chain, deposits);
  };
}

/** What all of them have to tell of keys that end, one after the other. */
export function onKeysEndedOf(features: readonly ListedFeature[]): OnKeysEnded {
  const told = features.flatMap(({ onKeysEnded }) => onKeysEnded ?? []);
  return async (tx, ended) => {
    const named = [];
    for (const onKeysEnded of told) named.push(...(await onKeysEnded(tx, ended)));
    return named;
  };
}

/** What all of them hand over when a key is rotated, one after the other. */
export function onKeyRotatedOf(features: readonly ListedFeature[]): OnKeyRotated {
  const told = features.flatMap(({ onKeyRotated }) => onKeyRotated ?? []);
  return async (tx, rotated) => {
    for (const onKeyRotated of told) await onKeyRotated(tx, rotated);
  };
}

/** What all of them lock before an account closes, one after the other and always in the same order. */
export function beforeAccountClosingOf(features: readonly ListedFeature[]): OnAccountClosing {
  return inTurn(features.flatMap(({ beforeAccountClosing }) => beforeAccountClosing ?? []));
}

/** What all of them erase when an account closes, one after the other and always in the same order. */
export function onAccountClosingOf(
  features: readonly ListedFeature[],
  parts: Pick<Parts, 'publicUrl'>,
): OnAccountClosing {
  return inTurn(features.flatMap((feature) => feature.onAccountClosing?.(parts) ?? []));
}

function inTurn(told: readonly OnAccountClosing[]): OnAccountClosing {
  return async (tx, accountId) => {
    for (const one of told) await one(tx, accountId);
  };
}

/** What all of them have under way for an account. */
export function underWayOfAll(features: readonly ListedFeature[]): UnderWayOf {
  const asked = features.flatMap(({ underWayOf }) => underWayOf ?? []);
  return async (tx, accountId) => {
    const named = [];
    for (const underWayOf of asked) named.push(...(await underWayOf(tx, accountId)));
    return named;
  };
}
