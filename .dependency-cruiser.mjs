// The import rule of ARCHITECTURE.md: everything points down, and there is one door to each thing.

/** The rooms, from the ground up. A room imports from the floors below it and from itself. */
const floors = [
  'money',
  'kernel',
  'chains',
  'ledger',
  'custody',
  'accounts',
  'policies',
  'webhooks',
  'payments',
  'shopping',
  'x402',
  'web',
  'mcp',
  'app',
];

/** The same inside a room: each folder imports from those before it. */
const insides = {
  custody: ['wallets', 'steps', 'watch', 'treasury', 'sweeps', 'limits', 'reserves'],
  shopping: ['search', 'merchants', 'orders'],
  x402: ['wire', 'sell', 'buy'],
};

/** Folders that stand side by side and know nothing of one another. */
const apart = { payments: ['transfers', 'invoices', 'deposits', 'funding', 'withdrawals', 'bridge', 'swaps'] };

/** Paying an invoice is a transfer. */
const exceptions = { invoices: '^src/payments/transfers/' };

/** A test may take anything. */
const test = '\\.test\\.ts$';

const upward = floors.map((room, floor) => ({
  name: `${room}-imports-only-from-below`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: test },
  to: { path: '^src/', pathNot: `^src/(${floors.slice(0, floor + 1).join('|')})/` },
}));

const inside = Object.entries(insides).flatMap(([room, folders]) =>
  folders.slice(0, -1).map((folder, place) => ({
    name: `${room}-${folder}-imports-only-from-below`,
    severity: 'error',
    from: { path: `^src/${room}/${folder}/`, pathNot: test },
    to: { path: `^src/${room}/(${folders.slice(place + 1).join('|')})/` },
  })),
);

const sideBySide = Object.entries(apart).flatMap(([room, folders]) =>
  folders.map((folder) => ({
    name: `${room}-${folder}-knows-no-neighbour`,
    severity: 'error',
    from: { path: `^src/${room}/${folder}/`, pathNot: test },
    to: {
      path: `^src/${room}/(${folders.filter((other) => other !== folder).join('|')})/`,
      ...(folder in exceptions && { pathNot: exceptions[folder] }),
    },
  })),
);

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: `${test}|^src/web/assets/` },
      to: {},
    },
    ...upward,
    ...inside,
    ...sideBySide,
    {
      name: 'only-app-picks-adapters',
      severity: 'error',
      from: { path: '^(src|sandbox)/', pathNot: `^src/app/|/adapters/|${test}` },
      to: { path: '/adapters/' },
    },
    {
      name: 'an-adapter-knows-no-other-adapter',
      severity: 'error',
      from: { path: '^src/(.+)/adapters/([^/]+)/', pathNot: test },
      to: { path: '/adapters/[^/]+/', pathNot: '^src/$1/adapters/($2|reading)/' },
    },
    {
      // They start quickly, and could as well be another program.
      name: 'the-commands-of-users-know-the-service-only-by-its-interface',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: test },
      to: { path: '^(src|sandbox)/', pathNot: '^src/(cli/|webhooks/sign-webhook|kernel/text/parse-url)' },
    },
    {
      name: 'one-door-to-the-sandbox',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/app/sandbox\\.ts$|${test}` },
      to: { path: '^sandbox/' },
    },
    {
      name: 'the-sandbox-is-loaded-only-when-it-is-used',
      severity: 'error',
      from: { path: '^src/app/sandbox\\.ts$' },
      to: { path: '^sandbox/', dynamic: false },
    },
    {
      name: 'the-sandbox-knows-its-port-and-not-the-root',
      severity: 'error',
      from: { path: '^sandbox/', pathNot: test },
      to: { path: '^src/app/', pathNot: '^src/app/sandbox-port\\.ts$' },
    },
    {
      name: 'the-guard-of-outgoing-requests-stands-alone',
      severity: 'error',
      from: { path: '^src/kernel/outgoing/', pathNot: test },
      to: { path: '^src/', pathNot: '^src/kernel/(outgoing/|clock|text/parse-url)' },
    },
    {
      name: 'signing-stands-alone',
      severity: 'error',
      from: { path: '^src/kernel/signing/', pathNot: test },
      to: { path: '^src/', pathNot: '^src/kernel/(signing/|clock)' },
    },
    {
      name: 'one-door-to-the-urls-of-others',
      severity: 'error',
      // The sandbox's own chains are asked at addresses that this machine has made itself.
      from: { path: '^(src|sandbox)/', pathNot: '^(src/kernel/outgoing|sandbox/chains)/' },
      to: { path: 'node_modules/undici' },
    },
    {
      name: 'the-parser-alone-reads-the-bytes-of-others',
      severity: 'error',
      // What the tasks look like may be known everywhere, what they are made of not.
      from: { path: '^(src|sandbox)/', pathNot: `/reading/|^src/app/parser-process\\.ts$|${test}` },
      to: { path: '/reading/|node_modules/htmlparser2', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-parser-knows-no-feature',
      severity: 'error',
      from: { path: '^src/kernel/parser/', pathNot: test },
      to: { path: '^src/', pathNot: '^src/kernel/(parser/|log/|clock)' },
    },
    {
      name: 'a-feature-is-listed-and-not-reached-for',
      severity: 'error',
      from: { path: '^(src|sandbox)/', pathNot: `^src/app/|${test}` },
      to: { path: '^(src|sandbox)/.+/feature\\.ts$', pathNot: '^src/kernel/feature\\.ts$' },
    },
    {
      name: 'webhooks-tell-what-they-are-given',
      severity: 'error',
      from: { path: '^src/webhooks/', pathNot: test },
      to: {
        path: '^src/(custody|accounts)/',
        pathNot: '^src/accounts/(find-account|errors|audit/record|keys/(on-keys-ended|place))',
      },
    },
    {
      name: 'features-do-not-know-who-is-told',
      severity: 'error',
      // A shop is told of an order by a request that is signed like a webhook.
      from: { path: '^src/', pathNot: `^src/(webhooks|app)/|${test}` },
      to: { path: '^src/webhooks/', pathNot: '^src/webhooks/sign-webhook\\.ts$' },
    },
    {
      name: 'no-dev-dependencies-in-production',
      severity: 'error',
      from: { path: '^(src|sandbox)/', pathNot: test },
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
