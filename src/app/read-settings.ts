import { readFileSync } from 'node:fs';
import type { Given } from '../kernel/settings.ts';
import { features } from './features.ts';
import type { ListedFeature } from './listed-feature.ts';
import { composeSettings, type ServiceSettings } from './settings.ts';
import type { Machine } from './unsafe-settings.ts';

const thisMachine: Machine = {
  isRoot: process.geteuid?.() === 0,
  readFile: (path) => readFileSync(path, 'utf8'),
};

export function readSettings(
  env: Given,
  list: readonly ListedFeature[] = features,
  machine: Machine = thisMachine,
): ServiceSettings {
  return composeSettings(env, list, machine);
}
