import type { Feature } from '../kernel/feature.ts';
import type { GatherHook } from '../kernel/hook.ts';
import { refuseSameNames } from '../kernel/refusal.ts';
import type { Saga } from '../kernel/sagas/define-saga.ts';
import { allSealed, type Sealed } from '../kernel/secrets/sealed.ts';
import type { Settings } from '../kernel/settings.ts';
import type { EventType } from '../ledger/event-types.ts';
import type { CommandParts, PageParts, Parts, ServingParts, WorkingParts } from './parts.ts';
import type { ServiceSettings } from './settings.ts';

/** Everything that a feature can receive. Its settings are its own: only `ownSettings` returns them. */
interface Given {
  readonly settings: never;
  readonly serving: ServingParts;
  readonly pages: PageParts;
  readonly working: WorkingParts;
  readonly metrics: Parts;
  readonly commands: CommandParts;
}

/**
 * A feature as app/features.ts lists it. A feature that needs a part which the service does not provide in that role
 * does not fit this type, so the list does not compile.
 */
export interface ListedFeature extends Omit<Feature<Given>, 'settings' | 'events'> {
  readonly events?: readonly EventType[];
  readonly settings?: Settings<unknown>;
}

/** A feature's settings, for code that knows their type. */
export function settingsOf<Own>(
  config: ServiceSettings,
  { name }: { readonly name: string; readonly settings?: Settings<Own> },
): Own {
  return config.settings.get(name) as Own;
}

export function ownSettings(config: ServiceSettings, { name }: ListedFeature): never {
  return config.settings.get(name) as never;
}

/** Calls each feature with its own settings and concatenates the results. */
export function gather<Item>(
  features: readonly ListedFeature[],
  config: ServiceSettings,
  ask: (feature: ListedFeature, settings: never) => readonly Item[] | undefined,
): Item[] {
  return features.flatMap((feature) => ask(feature, ownSettings(config, feature)) ?? []);
}

export function eventsOf(features: readonly ListedFeature[]): readonly EventType[] {
  const events = features.flatMap((feature) => feature.events ?? []);
  refuseSameNames('event', events);
  return events;
}

export function sagasOf(features: readonly ListedFeature[]): readonly Saga[] {
  const sagas = features.flatMap((feature) => feature.sagas ?? []).map(({ saga }) => saga);
  refuseSameNames('saga', sagas);
  return sagas;
}

export function sealedOf(features: readonly ListedFeature[]): readonly Sealed[] {
  return allSealed(features.flatMap(({ sealed }) => sealed ?? []));
}

/** Runs all handlers of a hook one after the other, in the order of the features. */
export function hooksOf(features: readonly ListedFeature[]): GatherHook {
  const hooked = features.flatMap(({ hooks }) => hooks ?? []);
  return (hook) => hook.gather(hooked);
}
