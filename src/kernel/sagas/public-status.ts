import type { StatePicture } from '../http/openapi.ts';
import type { Saga, SagaState } from './define-saga.ts';

/** The statuses that the API shows, in the order of the declaration. */
export function publicStatusesOf<PublicName extends string>({ states }: Saga<string, PublicName>): PublicName[] {
  const names = Object.values<SagaState<PublicName>>(states).flatMap(({ publicName }) => publicName ?? []);
  return [...new Set(names)] as PublicName[];
}

export function publicStatusOf<State extends string, PublicName extends string>(
  saga: Saga<State, PublicName>,
  status: State,
): PublicName {
  const known: SagaState<PublicName> | undefined = saga.states[status];
  const publicName = known === undefined ? lastUnderWay(saga) : known.publicName;
  if (publicName === undefined) throw new TypeError(`a ${saga.name} has no public name for ${status}`);
  return publicName;
}

/** A state that only a newer release knows is shown as the last status on the usual path that is not an end. */
function lastUnderWay<PublicName extends string>(saga: Saga<string, PublicName>): PublicName | undefined {
  const failure = publicStatusesOf(saga).at(-1);
  const states = Object.values<SagaState<PublicName>>(saga.states);
  return states.findLast(({ next, publicName }) => next.length > 0 && publicName !== failure)?.publicName;
}

/** The states that the API shows as this status. */
export function statesShownAs<State extends string, PublicName extends string>(
  { states }: Saga<State, PublicName>,
  status: PublicName,
): State[] {
  return (Object.keys(states) as State[]).filter((state) => states[state].publicName === status);
}

/** The picture in the API reference. The last public status is the failure, and the others are the usual path. */
export function pictureOf(saga: Saga, caption: string): StatePicture {
  const { states } = saga;
  const statuses = publicStatusesOf(saga);
  const failure = statuses.at(-1);
  const shown = statuses.map((state) => {
    const shared = Object.values(states).filter(({ publicName }) => publicName === state);
    const meaning = shared.find(({ publicMeaning }) => publicMeaning !== undefined)?.publicMeaning;
    if (meaning === undefined) throw new TypeError(`a ${saga.name} does not say what ${state} means`);
    const mayFail =
      state !== failure && shared.some(({ next }) => next.some((to) => states[to]?.publicName === failure));
    return { state, meaning, ...(mayFail && { mayFail }) };
  });
  const failed = shown.pop();
  if (failed === undefined) throw new TypeError(`a ${saga.name} has no public statuses`);
  return { caption, way: shown, failed };
}
