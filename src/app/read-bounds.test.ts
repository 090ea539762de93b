import { expect, test } from 'vitest';
import { metrics } from '../kernel/metrics/feature.ts';
import type { Given } from '../kernel/settings.ts';
import { settingsOf } from './listed-feature.ts';
import { readSettings } from './read-settings.ts';

/** What live mode has against these settings, among all that is missing here. */
function refusedLive(env: Given): string {
  try {
    readSettings({ ...env, PAYWRIGHT_MODE: 'live' });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test('the metrics are off until they have a port, and then on this machine alone', () => {
  expect(settingsOf(readSettings({}), metrics)).toBeUndefined();
  expect(settingsOf(readSettings({ OPERATOR_HOST: '0.0.0.0' }), metrics)).toBeUndefined();
  expect(settingsOf(readSettings({ OPERATOR_PORT: '9402' }), metrics)).toEqual({ host: '127.0.0.1', port: 9402 });
  for (const port of ['x', '-1', '65536', '1.5']) {
    expect(() => readSettings({ OPERATOR_PORT: port })).toThrow('OPERATOR_PORT must be a whole number from 0 to 65535');
  }
  expect(() => readSettings({ OPERATOR_OPEN: 'perhaps' })).toThrow('OPERATOR_OPEN must be yes or no');
});

test('live mode tells the metrics to other machines only when the operator says so', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.5', 'metrics.internal', '127.evil.example']) {
    const env = { OPERATOR_PORT: '9402', OPERATOR_HOST: host };
    expect(refusedLive(env)).toMatch(/^ {2}- OPERATOR_HOST is unsafe/m);
    expect(refusedLive({ ...env, OPERATOR_OPEN: 'yes' })).not.toContain('OPERATOR_HOST');
  }
  for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1']) {
    expect(refusedLive({ OPERATOR_PORT: '9402', OPERATOR_HOST: host })).not.toContain('OPERATOR_HOST');
  }
});
