import { expect, it } from 'vitest';
import { shareRuns } from './share-runs.ts';

/** Runs that end when the test says so. */
function heldRuns() {
  const begun: { readonly what: string; end(): void; fail(error: Error): void }[] = [];
  const share = shareRuns<string>(
    (what) => what,
    (what) => new Promise((resolve, reject) => begun.push({ what, end: resolve, fail: reject })),
  );
  return { begun, share };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('gives whoever asks during a run the next one, and all of them the same', async () => {
  const { begun, share } = heldRuns();
  const first = share('a');
  const second = share('a');
  const third = share('a');
  await settled();
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await first;
  await settled();
  expect(begun).toHaveLength(2);
  const fourth = share('a');
  begun[1]?.end();
  await Promise.all([second, third]);
  await settled();
  expect(begun).toHaveLength(3);
  begun[2]?.end();
  await fourth;
  const fifth = share('a');
  expect(begun).toHaveLength(4);
  begun[3]?.end();
  await fifth;
});

it('shares nothing between different things', async () => {
  const { begun, share } = heldRuns();
  const both = [share('a'), share('b')];
  expect(begun.map(({ what }) => what)).toEqual(['a', 'b']);
  for (const { end } of begun) end();
  await Promise.all(both);
});

it('lets those who wait behind a failure fail with it, and the next begin anew', async () => {
  const { begun, share } = heldRuns();
  const both = Promise.allSettled([share('a'), share('a')]);
  begun[0]?.fail(new Error('silent'));
  expect(await both).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  expect(begun).toHaveLength(1);
  const again = share('a');
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  await again;
});
