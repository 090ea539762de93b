import { readFileSync } from 'node:fs';
import type { Given } from '../kernel/settings.ts';
import { type Config, composeConfig } from './config.ts';
import { features } from './features.ts';
import type { ListedFeature } from './listed-feature.ts';
import type { Machine } from './unsafe-ground.ts';

const thisMachine: Machine = {
  isRoot: process.geteuid?.() === 0,
  readFile: (path) => readFileSync(path, 'utf8'),
};

export function readConfig(
  env: Given,
  list: readonly ListedFeature[] = features,
  machine: Machine = thisMachine,
): Config {
  return composeConfig(env, list, machine);
}
