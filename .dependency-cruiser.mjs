// The import rule of ARCHITECTURE.md: everything points down, and nobody reaches around a door.
import { existsSync, readdirSync } from 'node:fs';

const source = new URL('src/', import.meta.url);

/** Rooms that bring something to the list of features, but are the ground or the outside. */
const others = new Set(['chain-steps', 'http', 'ledger', 'metrics', 'providers', 'sagas', 'web']);

/** A room with a feature.ts is a feature. */
const rooms = readdirSync(source).filter(
  (room) => existsSync(new URL(`${room}/feature.ts`, source)) && !others.has(room),
);
const feature = `^src/(${rooms.join('|')})/`;

/** The ground that every room stands on. It knows none of them. */
const kernelRooms =
  'http|db|jobs|sagas|outgoing|signed-requests|rate-limit|operator-secret|metrics|places|daily-caps|parser';
const kernelFiles =
  'clock|ids|typeid|uuid-from|logger|redact|secrets|settings|feature|hook|checkpoint|in-parallel|json-depth|loopback|parse-url|printable|refusal|refuse-twice|sometimes|visible-text';
const kernel = `^src/((${kernelRooms})/|(${kernelFiles})\\.ts$)`;

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: '\\.test\\.ts$|^src/web/assets/' },
      to: {},
    },
    {
      name: 'money-and-db-know-nothing-above-them',
      severity: 'error',
      from: { path: '^src/(money|db)/' },
      to: { path: '^src/', pathNot: '^src/(money|db|logger|loopback|redact|refusal)' },
    },
    {
      name: 'the-ledger-knows-money-and-the-kernel-only',
      severity: 'error',
      from: { path: '^src/ledger/' },
      to: { path: '^src/', pathNot: ['^src/(ledger|money)/', kernel] },
    },
    {
      name: 'chains-know-money-only',
      severity: 'error',
      from: { path: '^src/chains/' },
      to: { path: '^src/', pathNot: '^src/(chains|money)/|^src/(ledger/account-id|loopback)' },
    },
    {
      name: 'the-guard-of-outgoing-requests-stands-alone',
      severity: 'error',
      from: { path: '^src/kernel/outgoing/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(outgoing/|clock|parse-url)' },
    },
    {
      name: 'signed-requests-stand-alone',
      severity: 'error',
      from: { path: '^src/kernel/signing/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(signed-requests/|clock)' },
    },
    {
      name: 'one-door-to-the-urls-of-others',
      severity: 'error',
      // The sandbox's own chains are asked at addresses that this machine has made itself.
      from: { path: '^src/', pathNot: '^src/(outgoing|sandbox/chains)/' },
      to: { path: 'node_modules/undici' },
    },
    {
      name: 'the-parser-alone-reads-the-bytes-of-others',
      severity: 'error',
      // What the tasks look like may be known everywhere, what they are made of not.
      from: { path: '^src/', pathNot: '/reading/|^src/app/parser-process\\.ts$|\\.test\\.ts$' },
      to: { path: '/reading/|node_modules/htmlparser2', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-parser-knows-no-feature',
      severity: 'error',
      from: { path: '^src/kernel/parser/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(parser/|logger|clock)' },
    },
    {
      name: 'the-kernel-knows-no-room-above-it',
      severity: 'error',
      // Tests look at what all features declare. The names of coins stand in the table of their tokens, in chains/coins.ts.
      from: { path: kernel, pathNot: '\\.test\\.ts$|^src/http/amount-field\\.ts$' },
      to: { path: '^src/', pathNot: ['^src/money/', kernel] },
    },
    {
      name: 'of-chains-the-kernel-knows-the-names-of-coins',
      severity: 'error',
      from: { path: '^src/http/amount-field\\.ts$' },
      to: { path: '^src/', pathNot: ['^src/(money/|chains/coins\\.ts$)', kernel] },
    },
    {
      name: 'only-app-reads-the-configuration',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(app/|cli\\.ts$)|\\.test\\.ts$' },
      to: { path: '^src/config\\.ts$' },
    },
    {
      name: 'one-file-loads-the-sandbox',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(sandbox/|app/sandbox\\.ts$)' },
      to: { path: '^sandbox/' },
    },
    {
      name: 'the-sandbox-is-loaded-only-when-it-is-used',
      severity: 'error',
      from: { path: '^src/app/sandbox\\.ts$' },
      to: { path: '^sandbox/', dynamic: false },
    },
    {
      name: 'sagas-and-steps-know-no-feature-but-the-port-to-wallets',
      severity: 'error',
      from: { path: '^src/(sagas|chain-steps)/', pathNot: '\\.test\\.ts$' },
      to: {
        path: [feature, '^src/(providers|sandbox|web)/'],
        pathNot: '^src/custody/wallets/(provider|house-wallets|user-wallets)\\.ts$',
      },
    },
    {
      name: 'features-use-ports-not-adapters',
      severity: 'error',
      from: { path: feature },
      to: { path: '^src/(providers|sandbox|web)/' },
    },
    {
      name: 'only-the-root-composes',
      severity: 'error',
      from: { pathNot: '^src/(app/|cli\\.ts$)|^test/|\\.test\\.ts$' },
      // The sandbox implements the port that app declares for it.
      to: { path: '^src/(app/|cli\\.ts$)', pathNot: '^src/app/sandbox-port\\.ts$' },
    },
    {
      name: 'the-sandbox-alone-implements-its-port',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(app|sandbox)/' },
      to: { path: '^src/app/sandbox-port\\.ts$' },
    },
    {
      name: 'a-feature-is-listed-and-not-reached-for',
      severity: 'error',
      from: { pathNot: '^src/app/|^test/|\\.test\\.ts$' },
      to: { path: '^src/.+/feature\\.ts$' },
    },
    {
      name: 'webhooks-tell-what-they-are-given',
      severity: 'error',
      from: { path: '^src/webhooks/', pathNot: '\\.test\\.ts$' },
      // They take part when keys end: accounts declares that hook.
      to: { path: feature, pathNot: '^src/(webhooks/|accounts/(find-account|keys/on-keys-ended)|audit/record)' },
    },
    {
      name: 'features-do-not-know-who-is-told',
      severity: 'error',
      from: { path: feature, pathNot: '^src/webhooks/' },
      to: { path: '^src/webhooks/' },
    },
    {
      name: 'wallets-know-nothing-above-them',
      severity: 'error',
      from: { path: '^src/custody/wallets/' },
      to: { path: feature, pathNot: '^src/(wallets|accounts)/' },
    },
    {
      name: 'no-dev-dependencies-in-production',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
