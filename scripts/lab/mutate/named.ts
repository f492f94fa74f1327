/** Changes that once went unnoticed by every test of `npm test`; each must be noticed for good. */

export interface NamedMutant {
  readonly name: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Where it is noticed, so that this is asked first. */
  readonly test: string;
}

export const namedMutants: readonly NamedMutant[] = [
  {
    name: 'the last frame does not wait for the bill',
    file: 'server/relay/delivery/stream.ts',
    before: "await this.end('completed');\n        this.release();",
    after: "void this.end('completed');\n        this.release();",
    test: 'tests/relay/commit-wait.test.ts',
  },
  {
    name: 'what a whole stream ends with does not wait for the bill',
    file: 'server/relay/delivery/stream.ts',
    before: "      await this.end('completed');\n      this.release();\n      if (rest",
    after: "      void this.end('completed');\n      this.release();\n      if (rest",
    test: 'tests/relay/last-piece.test.ts',
  },
  {
    name: 'the hold before the extension is given back',
    file: 'server/relay/admission/reservation.ts',
    before: 'const spent = { held,',
    after: 'const spent = { held: this.plan.hold,',
    test: 'tests/relay/last-piece.test.ts',
  },
  {
    name: 'a form that was read once is sent again',
    file: 'server/relay/upstream/send.ts',
    before: 'parsed.form?.replayable === false',
    after: 'false',
    test: 'tests/relay/forms-once.test.ts',
  },
  {
    name: 'part of a usage counts as the whole',
    file: 'server/relay/delivery/settle.ts',
    before: "end.usage !== null && end.usageSource === 'reported';",
    after: 'end.usage !== null;',
    test: 'tests/relay/leaving.test.ts',
  },
  {
    name: 'ejections grow without end',
    file: 'server/relay/routing/health.ts',
    before: 'const longestEjectionMs = 300_000;',
    after: 'const longestEjectionMs = 900_000;',
    test: 'tests/relay/ejection.test.ts',
  },
  {
    name: 'the client’s key goes upstream in the query',
    file: 'server/routing/endpoint.ts',
    before: "  query.delete('key');\n",
    after: '',
    test: 'tests/relay/query.test.ts',
  },
  {
    name: 'a cost that is not known counts as nothing',
    file: 'server/domain/logs/service.ts',
    before: 'known.cost === null || share === undefined ? null :',
    after: 'share === undefined ? known.cost : known.cost === null ? null :',
    test: 'tests/domain/log-figures.test.ts',
  },
  {
    name: 'requests of the last minute are those of an hour',
    file: 'server/domain/logs/service.ts',
    before: 'Math.floor(deps.now() / 1000) - 60;',
    after: 'Math.floor(deps.now() / 1000) - 3600;',
    test: 'tests/domain/log-figures.test.ts',
  },
  {
    name: 'who spent in the hour before is not looked at',
    file: 'server/domain/notifications/quota-alerts.ts',
    before: 'now - (now % 3600) - 3600',
    after: 'now - (now % 3600)',
    test: 'tests/domain/quota-alerts.test.ts',
  },
  {
    name: 'a failed answer is a release',
    file: 'server/domain/status/updates.ts',
    before: "if (!response.ok || typeof release.tag_name !== 'string')",
    after: "if (typeof release.tag_name !== 'string')",
    test: 'tests/domain/updates.test.ts',
  },
  {
    name: 'a storage failure is answered as done',
    file: 'server/billing/ledger/client.ts',
    before: 'call?.reject(unavailable(answer));',
    after: 'call?.resolve(done);',
    test: 'tests/ledger/client.test.ts',
  },
];
