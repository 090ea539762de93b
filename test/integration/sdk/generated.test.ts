import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generateSdk } from '../../../scripts/generate-sdk.mjs';
import { readInterface } from '../../../scripts/read-interface.mjs';
import { useService } from '../../support/service.ts';

const service = useService();

test('what the SDK is generated from is what the service says of itself', async () => {
  const usual = 'http://127.0.0.1:8402';
  const text = JSON.stringify((await service.client.get('/openapi.json')).body).replaceAll(service.url, usual);
  const document = await readInterface();
  expect(JSON.parse(text)).toEqual(document);
  for (const [name, generated] of Object.entries(generateSdk(document))) {
    const committed = readFileSync(new URL(`../../../packages/sdk/src/generated/${name}`, import.meta.url), 'utf8');
    expect(committed === generated, `${name} is old: run npm run sdk`).toBe(true);
  }
});

test('an operation that the SDK could not offer is refused', async () => {
  const document = await readInterface();
  const { '/invoices/{id}/pay': pay, ...paths } = document.paths;
  const colliding = JSON.parse(JSON.stringify(pay).replaceAll('"note"', '"id"'));
  expect(() => generateSdk({ ...document, paths: { ...paths, '/invoices/{id}/pay': colliding } })).toThrow(
    'id is there twice',
  );
  const twice = { ...paths, '/a': pay, '/b': pay };
  expect(() => generateSdk({ ...document, paths: twice as typeof paths })).toThrow('invoices.pay is there twice');
});
