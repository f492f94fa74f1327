/** Changes that change nothing anybody could notice, each with the reason. */

export interface Equivalent {
  readonly file: string;
  /** The line it stands in. */
  readonly line: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: 'server/protocols/anthropic-messages/encode-messages.ts',
    line: "const rank = (block: Block): number => (block.type === 'tool_result' ? 0 : 1);",
    before: '0',
    after: '(-1)',
    reason: 'of two ranks the smaller one stays the smaller',
  },
  {
    file: 'server/relay/endpoints/tasks/midjourney.ts',
    line: "const requested: ParsedRequest = { ...parsed, model: drawingModel('SEED'), order: { path, bodyFor: () => null } };",
    before: "'SEED'",
    after: "'changed'",
    reason: 'the name stands neither in the path nor in a body, and nothing is charged by it',
  },
  {
    file: 'server/domain/import/source.ts',
    line: 'export const flagOf = (value: unknown): boolean => value === true || value === 1 || /^(1|t|true)$/i.test(textOf(value));',
    before: '||',
    after: '&&',
    reason: 'written as text, true and 1 are among the words that follow',
  },
  {
    file: 'server/relay/intake/json-text.ts',
    line: 'if (depth >= 1 && start < 0) start = at;',
    before: '<',
    after: '<=',
    reason: 'nothing within a list starts at 0, where the list itself does',
  },
  {
    file: 'server/relay/intake/json-text.ts',
    line: 'let start = -1;',
    before: '1',
    after: '(2)',
    reason: 'any number below 0 says that no element has begun',
  },
  {
    file: 'server/protocols/shared/model-limits.ts',
    line: 'const [min, max] = target.budget ?? [0, Number.POSITIVE_INFINITY];',
    before: '0',
    after: '(-1)',
    reason: 'what is asked for is above 0 where the least counts, and 1 is above both',
  },
  {
    file: 'server/relay/shared/recordings/length.ts',
    line: 'if (seconds !== null && Number.isFinite(seconds) && seconds >= 0) return seconds;',
    before: '0',
    after: '(-1)',
    reason: 'no reader tells less than no time: each divides counts or adds them up, and none is below 0',
  },
  {
    file: 'server/routing/offers.ts',
    line: 'if (surchargeOf({ surcharges }) > surchargeOf({ surcharges: largest })) largest = surcharges;',
    before: '>',
    after: '>=',
    reason: 'of two lists that come to the same either covers the other',
  },
  {
    file: 'server/billing/balances/shared-memory.ts',
    line: 'export const groupStripe = (slot: number): number => stripes + ((slot >>> 4) & (groupStripes - 1));',
    before: '1',
    after: '(2)',
    reason: 'the same group has the same lock as before, shared with more groups',
  },
  {
    file: 'server/billing/balances/rate-windows.ts',
    line: 'export const ringCells = 32;',
    before: '32',
    after: '(33)',
    reason: 'a cell more behind each ring, which nobody uses',
  },
  {
    file: 'server/contract/pricing/modifiers.ts',
    line: 'if (surcharges.length === 0 && prices.surcharges === undefined) return prices;',
    before: '0',
    after: '(-1)',
    reason: 'the long way makes the same prices, and those of the tiers with them',
  },
  {
    file: 'server/routing/candidates.ts',
    line: 'return list.length === 1 && only?.length === 1 ? only : new PickedCandidates(list, random, health, preferred);',
    before: '1',
    after: '(0)',
    reason: 'the long way names the one channel as well, sound or in trouble',
  },
  {
    file: 'server/relay/upstream/prepare.ts',
    line: 'return { body: edits.size === 0 ? json.bytes : editMembers(json.text, json.shape, edits), modifiers };',
    before: '0',
    after: '(-1)',
    reason: 'a text without edits is the same bytes: what is no UTF-8, or has a mark in front, was refused before',
  },
  {
    file: 'server/domain/channels/service.ts',
    line: "if (row === undefined) throw new AppError('not_found', { what: 'channel' });",
    before: "'channel'",
    after: "'changed'",
    reason: 'stands there for the type checker: a row that was inserted is there',
  },
  {
    file: 'server/domain/wallet/stripe.ts',
    line: "money: typeof session.amount_total === 'number' ? session.amount_total : -1,",
    before: '1',
    after: '(2)',
    reason: 'no order is for an amount below 0',
  },
  {
    file: 'server/domain/accounts/codes.ts',
    line: "const guesses = createRateLimit('guesses at codes', codeSeconds, attempts, store);",
    before: "'guesses at codes'",
    after: "'changed'",
    reason: 'the name tells these counts from others, and no other has that one either',
  },
  {
    file: 'server/domain/sessions/throttle.ts',
    line: "subject === '' ? 0 : await delay(unknownAt(subject), limits.anonymous),",
    before: '0',
    after: '(-1)',
    reason: 'the longest of three waits is taken, and the other two are never below 0',
  },
  {
    file: 'server/routing/candidates.ts',
    line: 'if (pick < 0) return channel;',
    before: '<',
    after: '<=',
    reason: 'a drawn real number that hits the border between two weights has no probability',
  },
  {
    file: 'server/domain/sessions/devices.ts',
    line: "createHash('sha256').update(hash).digest('base64url').slice(0, 16);",
    before: '16',
    after: '(17)',
    reason: 'a mark is compared with marks that are made alike',
  },
  {
    file: 'server/domain/oauth/login-flow.ts',
    line: "const made = (): string => randomBytes(24).toString('base64url');",
    before: '24',
    after: '(25)',
    reason: 'what nobody guesses in 24 bytes nobody guesses in 25',
  },
  {
    file: 'server/billing/balances/slot.ts',
    line: 'visitsSpan: 7,',
    before: '7',
    after: '(8)',
    reason: 'the next cell of the place is as free as this one',
  },
  {
    file: 'cli/commands/logs/logs.ts',
    line: 'const followMs = 500;',
    before: '500',
    after: '(499)',
    reason: 'who follows a log does not see a thousandth of a second',
  },
  {
    file: 'cli/parts/top.ts',
    line: "{ name: say('余额可用', 'lasts'), right: true, priority: 1 },",
    before: '1',
    after: '(0)',
    reason: 'the last column is left out first among equals',
  },
  {
    file: 'db/postgres/kept-items.ts',
    line: 'if (now() - sweptMs >= cleanupMs) await cleanup();',
    before: '>=',
    after: '>',
    reason: 'what is cleared each minute may be cleared a millisecond later',
  },
  {
    file: 'server/http/admin/session.ts',
    line: '.map(([group, desc]) => [group, { desc: String(desc), ratio: ratios.get(group) ?? 1 }]),',
    before: '1',
    after: '(2)',
    reason: 'stands there for the type checker: a group without a ratio was filtered out',
  },
  {
    file: 'db/postgres/months.ts',
    line: 'const futureSeconds = 62 * 86_400;',
    before: '86_400',
    after: '(86399)',
    reason: 'the month after next is made a minute later, and weeks before its first row',
  },
  {
    file: 'web/features/tokens/use-tokens.ts',
    line: "scope: [page, size, keyword, key, status, sort].join(' '),",
    before: "' '",
    after: "'changed'",
    reason: 'scopes are compared with each other, and whatever stands between their parts tells them apart',
  },
];
