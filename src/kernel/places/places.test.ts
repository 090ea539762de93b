import { describe, expect, it } from 'vitest';
import { createPlaces, NoPlace, type Place } from './places.ts';

/** As many places as this owner is given now. */
function fill(enter: () => Place): Place[] {
  const taken: Place[] = [];
  try {
    for (;;) taken.push(enter());
  } catch (error) {
    if (!(error instanceof NoPlace)) throw error;
    return taken;
  }
}

const refusal = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    return error as NoPlace;
  }
  throw new Error('it was not refused');
};

describe('places', () => {
  const open = (inAll: number, share: number) =>
    createPlaces({ what: 'searches', inAll, shares: { caller: share, address: 2 * share } });

  it('are as many for one owner as its share, and the refusal says so', () => {
    const places = open(256, 16);
    expect(fill(() => places.enter({ caller: 'ada' }))).toHaveLength(16);
    const refused = refusal(() => places.enter({ caller: 'ada' }));
    expect(refused.isOwnShare).toBe(true);
    expect(refused.message).toBe(
      'The limit of 16 concurrent searches per caller is reached. Try again when one has ended.',
    );
    expect([places.hasRoom({ caller: 'ada' }), places.hasRoom({ caller: 'grace' })]).toEqual([false, true]);
  });

  it('are given back once, however often a holder leaves', () => {
    const places = open(8, 2);
    const [first, second] = [places.enter({ caller: 'ada' }), places.enter({ caller: 'ada' })];
    first.leave();
    first.leave();
    expect(fill(() => places.enter({ caller: 'ada' }))).toHaveLength(1);
    second.leave();
    expect(fill(() => places.enter({ caller: 'ada' }))).toHaveLength(1);
  });

  it('count for each kind of owner that is named', () => {
    const places = open(256, 16);
    const accounts = ['ada', 'grace', 'lin'].map((caller) =>
      fill(() => places.enter({ caller, address: '192.0.2.1' })),
    );
    expect(accounts.map(({ length }) => length)).toEqual([16, 15, 1]);
    expect(refusal(() => places.enter({ caller: 'ada', address: '192.0.2.2' })).isOwnShare).toBe(true);
    expect(fill(() => places.enter({ address: '192.0.2.2' })).length).toBeGreaterThan(20);
    expect(fill(() => places.enter({})).length).toBeGreaterThan(100);
  });

  it('are left to others by five greedy owners, and by a hundred', () => {
    for (const greedy of [5, 100]) {
      const places = createPlaces({ what: 'searches', inAll: 256, shares: { caller: 32 } });
      const held = Array.from({ length: greedy }, () => 0);
      for (let round = 0; round < 32; round++) {
        for (const index of held.keys()) {
          if (!places.hasRoom({ caller: `greedy ${index}` })) continue;
          places.enter({ caller: `greedy ${index}` });
          held[index] = (held[index] ?? 0) + 1;
        }
      }
      expect(Math.min(...held)).toBeGreaterThan(0);
      expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1);
      expect(fill(() => places.enter({ caller: 'ada' })).length).toBeGreaterThan(0);
    }
  });

  it('that are all taken are nobody’s fault in particular', () => {
    const places = open(3, 2);
    for (const caller of ['ada', 'grace', 'lin']) places.enter({ caller });
    expect(places.isFull).toBe(true);
    const refused = refusal(() => places.enter({ caller: 'mia' }));
    expect(refused).toMatchObject({ isOwnShare: false, retryAfterSeconds: 5 });
    expect(refused.message).toBe('Too many searches are in progress. Try again in a moment.');
    expect(refusal(() => places.enter({ caller: 'ada' })).isOwnShare).toBe(false);
    expect(places.hasRoom({ caller: 'mia' })).toBe(false);
  });

  it('that were only begun count for their owner, and in all from when they stay', () => {
    const places = open(2, 2);
    const begun = ['ada', 'grace', 'lin'].map((caller) => places.begin({ caller }));
    expect(places.isFull).toBe(false);
    begun[0]?.stay();
    begun[1]?.stay();
    expect(refusal(() => begun[2]?.stay()).isOwnShare).toBe(false);
    expect(places.begin({ caller: 'mia' })).toBeDefined();
    for (const place of begun) place.leave();
    expect(fill(() => places.enter({ caller: 'ada' }))).toHaveLength(2);
  });
});
