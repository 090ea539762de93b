import { describe, expect, it } from 'vitest';
import { nextStep } from './retry-plan.ts';

const plan = [10, 60, 360];
const stepAfter = (responseCode: number | null, attemptOfCycle: number, random = 0.5) =>
  nextStep({ responseCode, attemptOfCycle }, plan, () => random);

describe('after an attempt', () => {
  it.each([200, 201, 204, 299])('%s is delivered', (code) =>
    expect(stepAfter(code, 1)).toEqual({ status: 'delivered' }),
  );

  it.each([100, 199, 300, 302, 400, 404, 429, 500, 503, null])('%s is tried again', (code) =>
    expect(stepAfter(code, 1)).toEqual({ status: 'pending', afterSeconds: 10 }),
  );

  it('it waits longer each time, and after the fourth failure no more', () => {
    expect(stepAfter(500, 2)).toEqual({ status: 'pending', afterSeconds: 60 });
    expect(stepAfter(500, 3)).toEqual({ status: 'pending', afterSeconds: 360 });
    expect(stepAfter(500, 4)).toEqual({ status: 'failed' });
  });

  it('it waits a tenth more or less', () => {
    expect(stepAfter(500, 1, 0)).toEqual({ status: 'pending', afterSeconds: 9 });
    expect(stepAfter(500, 1, 0.999)).toMatchObject({ afterSeconds: expect.closeTo(11, 1) });
  });

  it('410 is never tried again', () => expect(stepAfter(410, 1)).toEqual({ status: 'failed' }));
});
