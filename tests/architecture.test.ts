import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAst } from 'vite';
import { expect, test } from 'vitest';
import { cyclesIn, importsOf as targetsOf } from '../scripts/house/imports.ts';
import { codecs } from '../server/protocols/registry.ts';
import { looseName } from '../server/protocols/shared/member-name.ts';
import { allProviders } from '../server/providers/catalogue.ts';

const root = resolve(import.meta.dirname, '..');
const files = ['cli', 'server', 'db', 'web', 'scripts', 'tests'].flatMap((folder) =>
  [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].filter((path) => !path.includes('/dist/')),
);
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
/** Without what is said about it. */
const codeOf = (path: string): string => textOf(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
const source = files.filter((path) => !path.startsWith('tests/'));

/** Imports of a file as paths from the root; type-only imports are told apart. */
const importsOf = (path: string): { readonly target: string; readonly typeOnly: boolean }[] =>
  [
    ...textOf(path).matchAll(
      /^(?:import|export)\s+(type\s)?[^'"=;()]*?from\s+'(\.[^']+)'|^import\s+'(\.[^']+)'|import\('(\.[^']+)'\)/gm,
    ),
  ].map((match) => ({
    target: join(path, '..', match[2] ?? match[3] ?? match[4] ?? ''),
    typeOnly: match[1] !== undefined,
  }));

const layers: readonly (readonly [string, RegExp, RegExp])[] = [
  ['contract is pure', /^server\/contract\//, /^server\/(contract|protocols\/canonical)/],
  [
    'the database knows only the contract, and of money the language, the rules and the ports',
    /^db\//,
    /^(db|server\/contract|server\/billing\/(ports|ledger\/(commands|core|invoices)))/,
  ],
  ['money knows no database and no relay', /^server\/billing\//, /^server\/(contract|billing|protocols)/],
  ['protocols know no database, no server, no provider', /^server\/protocols\//, /^server\/(contract|protocols)/],
  ['providers know only protocols', /^server\/providers\//, /^server\/(contract|protocols|providers)/],
  [
    'routing is pure: what follows from the configuration',
    /^server\/routing\//,
    /^server\/(contract|protocols|providers|routing)/,
  ],
  ['domain', /^server\/domain\//, /^(db|server\/(contract|domain|billing\/ledger|providers|protocols|routing))/],
  [
    'the relay',
    /^server\/relay\//,
    /^server\/(contract|protocols|providers|routing|billing\/(balances|leases\/node-lease|ledger\/commands)|relay|domain\/channels)/,
  ],
  [
    'the API',
    /^server\/http\//,
    /^(db|server\/(contract|domain|relay|http|embedded|billing\/ledger\/(client|commands)|providers|app\/services\.ts))/,
  ],
  ['threads', /^server\/threads\//, /^(db|server)\//],
  ['one node among others', /^server\/cluster\//, /^(db|server)\//],
  ['one server after another', /^server\/handover\//, /^(db|server)\//],
  [
    'figures for monitors',
    /^server\/observability\/metrics\//,
    /^server\/(contract|observability\/metrics|relay\/shared\/stats|threads\/relay\/messages)/,
  ],
  ['logs', /^server\/observability\/logging\//, /^server\/(contract|observability\/logging|relay\/admission)/],
  ['traces', /^server\/observability\/traces\//, /^server\/(contract|observability\/traces|relay)/],
  ['guarded outbound calls', /^server\/outbound\//, /^server\/(contract|outbound)/],
  ['what the build puts in', /^server\/embedded\//, /^(server\/(embedded|contract\/errors)|package\.json)/],
  ['composition roots', /^server\/app\//, /^(db|server)\//],
  [
    'the terminal knows the contract and the composition roots',
    /^cli\//,
    /^(cli|server\/(contract|embedded\/(version|legal-text|workers)|practice|app\/(serve|in-process|data-dir-commands|move-database|import|data-dir)\.ts))/,
  ],
  ['the console', /^web\//, /^(web|server\/contract)/],
  [
    'the practice upstream knows the dialects, the catalogue and what the rows of knowledge say',
    /^server\/practice\//,
    /^server\/(practice|protocols|providers)/,
  ],
];

test.each(layers)('%s', (_name, from, allowed) => {
  const crossing = source
    .filter((path) => from.test(path))
    .flatMap((path) => importsOf(path).map(({ target }) => ({ path, target })))
    .filter(({ target }) => !allowed.test(target));
  expect(crossing).toEqual([]);
});

/** From the ground up: a stage of the relay knows those before it alone, and `relay.ts` all. */
const stages = ['state', 'shared', 'intake', 'routing', 'admission', 'upstream', 'delivery', 'endpoints', 'relay'];
const stageOf = (path: string): string | null => {
  const inside = /^server\/relay\/(?:([a-z]+)\/)?/.exec(path);
  return inside === null ? null : (inside[1] ?? 'relay');
};

test('the relay’s stages know nothing of those after them', () => {
  const inside = source.filter((path) => stageOf(path) !== null);
  expect([...new Set(inside.map(stageOf))].sort()).toEqual([...stages].sort());
  const upwards = inside.flatMap((path) =>
    importsOf(path)
      .filter(({ target }) => stages.indexOf(stageOf(target) ?? 'state') > stages.indexOf(stageOf(path) ?? 'relay'))
      .map(({ target }) => `${path} -> ${target}`),
  );
  expect(upwards).toEqual([]);
});

/** From the ground up: a room of the console knows those before it alone, and of the features none knows another. */
const rooms = ['lib', 'components', 'shell', 'features', 'app'];
/** The menu is what the pages say of themselves, and it stands around them. */
const knowsPages = 'web/shell/nav.ts';

test('what two features of the console share lies in its components or its lib', () => {
  const roomOf = (path: string): number => rooms.indexOf(/^web\/([a-z]+)\//.exec(path)?.[1] ?? '');
  const featureOf = (path: string): string | undefined => /^web\/features\/([a-z-]+)\//.exec(path)?.[1];
  const inside = source.filter((path) => roomOf(path) >= 0);
  expect([...new Set(inside.map(roomOf))].sort()).toEqual(rooms.map((_room, floor) => floor));
  const wrong = inside.flatMap((path) =>
    importsOf(path)
      .filter(
        ({ target }) =>
          roomOf(target) > roomOf(path) || (roomOf(target) === roomOf(path) && featureOf(target) !== featureOf(path)),
      )
      .map(({ target }) => `${path} -> ${target}`),
  );
  expect(wrong).toEqual([`${knowsPages} -> web/app/pages.tsx`]);
});

test('no file imports itself round a corner', () => {
  expect(cyclesIn(new Map(source.map((path) => [path, targetsOf(path, textOf(path))])))).toEqual([]);
});

test('every file belongs to a layer', () => {
  expect(source.filter((path) => !/^scripts\//.test(path) && !layers.some(([, from]) => from.test(path)))).toEqual([]);
});

test.each([
  ['the relay from the domain and from SQL', /^server\/relay\//, /^(db|server\/domain)/],
  ['the API from SQL', /^server\/http\//, /^db/],
])('nothing but types reaches %s', (_name, from, target) => {
  const loaded = source
    .filter((path) => from.test(path))
    .flatMap((path) => importsOf(path).map((one) => ({ path, ...one })))
    .filter((one) => !one.typeOnly && target.test(one.target));
  expect(loaded).toEqual([]);
});

/** What may wait or look at a clock by itself, and why. */
const ownTime: Readonly<Record<string, string>> = {
  'server/billing/balances/shared-memory.ts': 'a thread that waits for a lock is asleep: it can run no timer',
};

test('relay, money and threads take the clock and their timers from `Timers`', () => {
  const bare =
    /\b(?:setTimeout|setInterval|clearTimeout|clearInterval|hrtime|performance\.\w+|Date\.now|new Date\(\)|Bun\.(?:sleep|nanoseconds)|AbortSignal\.timeout|Atomics\.wait)|timers\/promises/;
  const found = source.filter((path) => /^server\/(relay|billing|threads)\//.test(path) && bare.test(codeOf(path)));
  expect(found).toEqual(Object.keys(ownTime));
});

test('SQL lives in db alone', () => {
  const sql = /\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b/;
  expect(
    source.filter((path) => !path.startsWith('db/') && !path.startsWith('scripts/') && sql.test(textOf(path))),
  ).toEqual([]);
});

test('no provider is named outside its catalogue', () => {
  // Names of wire dialects, and words of the language.
  const words = ['openai', 'anthropic', 'gemini', 'custom', 'practice'];
  const slugs = allProviders.map((provider) => provider.slug).filter((slug) => !words.includes(slug));
  const named = new RegExp(`['"\`](${slugs.join('|')})['"\`]`);
  const exempt = /^(?:server\/(?:providers|practice)|scripts)\//;
  const offenders = source.filter((path) => !exempt.test(path) && named.test(textOf(path)));
  expect(offenders).toEqual([]);
});

/** A path whose clients may leave the model out has one of its own. */
const namesDefaults = ['server/relay/intake/routes.ts'];

test('protocols and relay name no model: what one takes is a row', () => {
  const families =
    /\b(?:claude-(?:\d|opus|sonnet|haiku|fable)|gpt-(?:\d|\[)|gemini-(?:\d|\[)|grok-\d|deepseek-[vr]\d|qwen\d|kimi-k|glm-\d|chatgpt|text-davinci|\bo\[134|sonar)/;
  const naming = source.filter((path) => /^server\/(protocols|relay)\//.test(path) && families.test(codeOf(path)));
  expect(naming.filter((path) => !namesDefaults.includes(path))).toEqual([]);
});

test('no provider’s type number is compared or set outside its catalogue', () => {
  const number =
    /\b(?:channel|provider|upstream)\w*\??\.type\s*[!=]==?\s*\d|\bchannelTypes?\b\s*(?:[!=]==?|[=:])\s*\[?\d/i;
  const listed = /\btype\b\s*(?:[!=]==?\s*|:\s*)\d{2,}\b|\[[^\]\n]*\d[^\]\n]*\]\.includes\([^)]*\btype\)/;
  const offenders = source.filter(
    (path) => !/^(server\/providers|scripts)\//.test(path) && (number.test(textOf(path)) || listed.test(textOf(path))),
  );
  expect(offenders).toEqual([]);
});

test('programs of ours are started by the path of the running Bun, never by its name', () => {
  const byName =
    /\b(?:spawn|exec)\w*\(\s*\[?\s*(['"`])(?:bunx?|npx)\b|^#!.*\bbun\b|\bbash['"], ?\['-c', ?[^\]]*\bbunx? /m;
  expect(files.filter((path) => path !== 'tests/architecture.test.ts' && byName.test(textOf(path)))).toEqual([]);
});

test('no test replaces a module: the files of one worker share their modules', () => {
  expect(textOf('vitest.config.ts')).toContain('isolate: false');
  const replaces = /\bvi\.(?:mock|doMock|hoisted)\(/;
  expect(files.filter((path) => path !== 'tests/architecture.test.ts' && replaces.test(textOf(path)))).toEqual([]);
});

/** Private words that the glossary (`web/docs/en/glossary.md`) replaced by the words of the field. */
const retiredWords =
  /^(telling|tells?|told|teller|untold|nobody|somebody|whoever|anew|purse|visitors?|company|estate|heir|bur(y|ied)|hearsay|gossip|patience|standing|inquiry|retold|verbatim|candid|vain|departure|crowd|len[dt]|lender|tenure|strangers?|mend(s|ed)?|condense|cover|pocket|newcomers?)$/;
const declaration =
  /\b(?:const|let|function\*?|class|interface|type|enum|readonly|static|get|set)\s+([A-Za-z_$][\w$]*)/g;

test('no name uses a word that the glossary has replaced', () => {
  const named = source.flatMap((path) => {
    const file = path.split('/').at(-1)?.split('.')[0] ?? '';
    return [file.replaceAll('-', '_'), ...[...codeOf(path).matchAll(declaration)].map(([, name = '']) => name)];
  });
  const isRetired = (name: string): boolean =>
    (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).some((word) => retiredWords.test(word.toLowerCase()));
  expect(named.filter(isRetired)).toEqual([]);
});

test('nothing is left undone or switched off', () => {
  const marks = new RegExp(
    `\\b(${['TO', 'DO'].join('')}|FIX${'ME'})\\b|\\.(skip|only|todo)\\(|@ts-(ignore|nocheck)|\\bas any\\b|: any\\b`,
  );
  expect(files.filter((path) => path !== 'tests/architecture.test.ts' && marks.test(textOf(path)))).toEqual([]);
});

/** Rules made of rows look where each wire says a thing; one provider hosts three families of models, each at an address of its own. */
const choosesDialects = ['server/practice/row-rules.ts', 'server/providers/adapters/vertex.ts'];

test('no code asks which dialect it is: what a dialect needs stands in its row', () => {
  const ids = Object.keys(codecs).join('|');
  const requested = new RegExp(
    `[!=]==? ['"](?:${ids})['"]|['"](?:${ids})['"] [!=]==|case ['"](?:${ids})['"]|['"](?:${ids})['"]\\]?:`,
  );
  // The laboratory plays upstreams of every dialect from outside.
  const exempt = /^(?:server\/protocols|scripts\/lab)\//;
  const asking = source.filter((path) => !exempt.test(path) && requested.test(textOf(path)));
  expect(asking).toEqual(choosesDialects);
});

/* ---- what a stranger wrote raises what is paid; it lowers by `cheapestOnlyIf` alone ---- */

/** Index behind the bracket that closes the one at `start`. Texts with brackets in them are rare in code, and seen in review. */
function closed(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    if ('([{'.includes(code[at] ?? '')) depth++;
    else if (')]}'.includes(code[at] ?? '') && --depth === 0) return at + 1;
  }
  return code.length;
}

/** Picks one of several readings, or lets one of them decide. */
const picking = /^\s*(?:\[|\??\.(?:at|find|findLast|every|some|includes|pop|shift)\()/;
const chained = /^\s*\??\.\w+\(/;

/** Places where one of several readings decides, in words. */
function pickedReadings(code: string): string[] {
  const found: string[] = [];
  const say = (at: number) => found.push(code.slice(at, at + 80).replaceAll(/\s+/g, ' '));
  for (const { index } of code.matchAll(/\b(?:valuesOf|readingsOf)\(/g)) {
    let end = closed(code, code.indexOf('(', index));
    while (chained.test(code.slice(end)) && !picking.test(code.slice(end))) end = closed(code, code.indexOf('(', end));
    if (picking.test(code.slice(end))) say(index);
    // `for (const one of valuesOf(...)) if (...) return`: the first one decides.
    const line = code.slice(code.lastIndexOf('\n', index), index);
    if (!/\bfor \(/.test(line)) continue;
    const body = closed(code, code.lastIndexOf('for (', index) + 4);
    const rest = code.slice(body);
    const loop = /^\s*\{/.test(rest)
      ? rest.slice(0, closed(rest, rest.indexOf('{')))
      : rest.slice(0, rest.indexOf(';'));
    if (/\breturn\b/.test(loop)) say(index);
  }
  for (const { index } of code.matchAll(/\[\w+[^\]\n]*\]\s*=[^;]*?\b(?:valuesOf|readingsOf)\(/g)) say(index);
  for (const { index } of code.matchAll(/\.includes\(false\)/g)) say(index);
  for (const { index, 1: one = '', 2: other = '' } of code.matchAll(/\.(\w+)\)?\s*\?\?\s*(?:\w+\()?[\w.?]*\.(\w+)/g))
    if (one !== other && looseName(one) === looseName(other)) say(index);
  return found;
}

/** What a medium is its own bytes prove, whatever its type is called. */
const provesByBytes = 'server/relay/intake/media.ts';

test('where a value has several readings, no single one may lower the cost', () => {
  const priced =
    /^server\/(?:providers\/knowledge|routing|contract\/pricing|relay\/(?:admission|intake|endpoints|shared\/recordings)|protocols\/openai-responses\/stored)/;
  const places = source.filter((path) => priced.test(path) && path !== provesByBytes);
  expect(places.length).toBeGreaterThan(80);
  expect(places.flatMap((path) => pickedReadings(codeOf(path)).map((place) => `${path}: ${place}`))).toEqual([]);
});

test.each([
  `const [id = ''] = own === null ? [word(plugin)] : valuesOf(own, 'id').map(word);`,
  `if (own !== null && valuesOf(own, 'enabled').includes(false)) return none;`,
  `const off = values.includes(false);`,
  `if (valuesOf(own, 'mode').some((mode) => word(mode) === 'off')) return none;`,
  `valuesOf(tool, 'environment').every((place) => word(record(place)?.type) === 'local');`,
  `const id = valuesOf(own, 'id')[0];`,
  `const id = readingsOf(own, 'id').map(({ value }) => value).at(0);`,
  `\n    for (const limit of valuesOf(own, 'memorylimit'))\n      if (isOn(limit) && word(limit) !== '1g') return limit;`,
  `const config = record(body.generationConfig) ?? record(body.generation_config);`,
  `const budget = config?.thinkingBudget ?? config?.thinking_budget;`,
])('that would be noticed: %s', (code) => {
  expect(pickedReadings(code)).not.toEqual([]);
});

test.each([
  `cheapestOnlyIf(readingsOf(own, 'enabled'), 'enabled', isFalse)`,
  `dearest(readingsOf(own, 'maxresults').map(unitsIn), 5)`,
  `for (const container of valuesOf(tool, 'container')) ids.push(...idOf(container));`,
  `const size = usage.input_tokens ?? usage.prompt_tokens;`,
])('and that is as it should be: %s', (code) => {
  expect(pickedReadings(code)).toEqual([]);
});

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}
const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** Where an error ends that nobody said anything about: a catch around more than one call, and a promise whose rejection is thrown away. */
function silentCatchesIn(path: string): string[] {
  const text = textOf(path);
  if (!text.includes('catch')) return [];
  const found: string[] = [];
  const note = ({ start }: SyntaxNode) => found.push(`${path}:${text.slice(0, start).split('\n').length}`);
  /** Its own comment, or the one in front of it. */
  const hasReason = ({ start, end }: SyntaxNode): boolean =>
    text.slice(start, end).includes('// reason: ') || /\/\/ reason: [^\n]+\n[^\n]*$/.test(text.slice(0, start));
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'TryStatement' && isSyntaxNode(node.handler)) {
      const { handler, block } = node as unknown as { readonly handler: SyntaxNode; readonly block: SyntaxNode };
      const said = text.slice(handler.start, handler.end);
      // One call of somebody else's, a parser or the network: nothing of ours is in it.
      const isOneCall = (block.body as readonly SyntaxNode[]).length === 1;
      const isSaid =
        /\b(?:isOurs|report|asAppError|failure|fail|failedEarly|broke|refuse|failed|reject)\(|\bthrow (?:error|cause)\b|throw [a-zA-Z]+\(error/.test(
          said,
        );
      if (!isOneCall && !isSaid && !hasReason(handler)) note(handler);
    }
    if (node.type === 'CallExpression') {
      const { callee, arguments: given } = node as unknown as { callee: SyntaxNode; arguments: readonly SyntaxNode[] };
      const [handler] = given;
      if (
        callee.type === 'MemberExpression' &&
        (callee.property as { readonly name?: string }).name === 'catch' &&
        handler?.type === 'ArrowFunctionExpression' &&
        (handler.params as readonly unknown[]).length === 0 &&
        // A connection that is given up.
        !text.slice(callee.start, callee.end).endsWith('.cancel().catch') &&
        !hasReason(node)
      )
        note(callee.property as SyntaxNode);
    }
    for (const value of Object.values(node))
      if (Array.isArray(value)) for (const item of value) isSyntaxNode(item) && visit(item);
      else if (isSyntaxNode(value)) visit(value);
  };
  visit(parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode);
  return found;
}

test('no catch on a request’s way takes a defect of ours for somebody else’s: it holds one call, says whose it is, or says its reason', () => {
  const guarded = files.filter((path) => /^server\/(relay|protocols|providers|routing|billing|threads)\//.test(path));
  expect(guarded.flatMap(silentCatchesIn)).toEqual([]);
});
