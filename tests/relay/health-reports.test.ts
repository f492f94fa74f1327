/** Reports that relays send each other: soon, whatever the report, and reports of one moment together. */
import { expect, test } from 'vitest';
import { createHealthReports, type HealthReport } from '../../server/relay/routing/health-report.ts';

function listening() {
  const reported: HealthReport[] = [];
  const timers: (() => void)[] = [];
  const reports = createHealthReports(
    (report) => void reported.push(report),
    (_ms, done) => timers.push(done),
  );
  return { reported, timers, reports, passes: () => timers.shift()?.() };
}
const word = { channelId: 7 } as Parameters<ReturnType<typeof createHealthReports>['channel']>[0];
const kept = {} as Parameters<ReturnType<typeof createHealthReports>['kept']>[1];

test.each([
  [
    'a channel',
    (one: ReturnType<typeof listening>) => one.reports.channel(word),
    { channels: [word], pairs: [], served: [], kept: [] },
  ],
  [
    'who served',
    (one: ReturnType<typeof listening>) => one.reports.served('c', 7, -1),
    { channels: [], pairs: [], served: [['c', 7, -1]], kept: [] },
  ],
  [
    'what is kept',
    (one: ReturnType<typeof listening>) => one.reports.kept('id', kept),
    { channels: [], pairs: [], served: [], kept: [['id', kept]] },
  ],
] as const)('%s alone is reported, once', (_name, print, report) => {
  const one = listening();
  print(one);
  expect(one.reported).toEqual([]);
  one.passes();
  expect(one.reported).toEqual([report]);
  expect(one.timers).toHaveLength(0);
});

test('reports before the timer ends are sent together, later ones with the next timer', () => {
  const one = listening();
  one.reports.channel(word);
  one.reports.served('c', 7, -1);
  one.reports.served('c', 8, 1);
  expect(one.timers).toHaveLength(1);
  one.passes();
  expect(one.reported).toEqual([{ channels: [word], pairs: [], served: [['c', 8, 1]], kept: [] }]);
  one.reports.kept('id', kept);
  one.passes();
  expect(one.reported.at(-1)).toEqual({ channels: [], pairs: [], served: [], kept: [['id', kept]] });
});
