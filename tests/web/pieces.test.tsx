/** Small pieces of pages on both sides of each border, as markup that a person has read. */
import type { ReactNode } from 'react';
import { afterAll, beforeAll, test, vi } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';
import { aroundPages, rendered } from './rendered.tsx';

beforeAll(async () => {
  fixTimeZone();
  await aroundPages();
});
afterAll(() => vi.unstubAllGlobals());

const lines: string[] = [];
/** @param cases the properties of each. */
function show<Props extends object>(name: string, Piece: (props: Props) => ReactNode, cases: readonly Props[]): void {
  lines.push(`# ${name}`);
  for (const props of cases) lines.push(`${JSON.stringify(props)} → ${rendered(<Piece {...props} />)}`);
}

test('pieces that no page shows alone', async () => {
  const { Pager } = await import('../../web/components/pager.tsx');
  const { TrafficBars } = await import('../../web/components/traffic-bars.tsx');
  const { ResponseTime } = await import('../../web/features/channels/response-time.tsx');
  const { OrderState } = await import('../../web/components/order-state.tsx');
  const { Elapsed, Progress, TaskStatus, Words } = await import('../../web/features/tasks/status.tsx');
  const { Timeline } = await import('../../web/features/logs/timeline.tsx');
  const { FailureNote } = await import('../../web/components/failure.tsx');
  const onPage = (): void => undefined;

  const totals = [undefined, null, 0, 9, 10, 11, 20, 21, 40, 41];
  show(
    'Pager',
    (props: { total: number | null | undefined; page: number }) => (
      <Pager {...props} size={20} count={20} onPage={onPage} />
    ),
    totals.flatMap((total) => [1, 2].map((page) => ({ total, page }))),
  );
  show(
    'Pager of unknown length',
    (props: { count: number; page: number; size: number }) => <Pager {...props} total={null} onPage={onPage} />,
    [
      { count: 0, page: 1, size: 10 },
      { count: 9, page: 1, size: 10 },
      { count: 10, page: 1, size: 10 },
      { count: 10, page: 3, size: 10 },
      { count: 0, page: 3, size: 10 },
      { count: 11, page: 1, size: 20 },
    ],
  );
  show(
    'Pager of rows that are added',
    (props: { loaded?: number; count: number }) => (
      <Pager {...props} page={1} size={null} total={300} onPage={onPage} onSize={onPage} />
    ),
    [{ count: 100 }, { count: 100, loaded: 200 }],
  );

  const bar = (at: number, level: string) =>
    ({ at: at * 3600, attempts: at, failed: at % 3, latency: null, level }) as never;
  show(
    'TrafficBars',
    (props: { levels: string[]; narrow?: boolean }) => (
      <TrafficBars bars={props.levels.map((level, at) => bar(at, level))} narrow={props.narrow ?? false} />
    ),
    [
      { levels: [] },
      { levels: [], narrow: true },
      { levels: ['none', 'good', 'slow', 'poor', 'bad', 'good'] },
      { levels: ['good', 'bad'], narrow: true },
    ],
  );
  show(
    'ResponseTime',
    (props: { ms: number }) => <ResponseTime {...props} untested="not tested" />,
    [0, 1, 1000, 1001, 3000, 3001, 5000, 5001].map((ms) => ({ ms })),
  );
  show(
    'OrderState',
    OrderState,
    ['pending', 'success', 'expired', 'refunded'].map((state) => ({ state })),
  );
  show(
    'TaskStatus',
    TaskStatus,
    ['NOT_START', 'SUBMITTED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'MODAL', 'QUEUED', '', 'OTHER'].map((status) => ({
      status,
    })),
  );
  show(
    'Progress',
    Progress,
    ['0%', '70%', '33.3%', '100%', '', 'half', '7'].flatMap((text) =>
      [true, false].map((failed) => ({ text, failed })),
    ),
  );
  show('Words', Words, [{ text: 'a' }, { text: 'a', failed: true }]);
  show(
    'Elapsed',
    Elapsed,
    [-1, 0, 1, 60, 61, 3700].map((seconds) => ({ seconds })),
  );
  const log = { user_id: 7, completion_tokens: 50, use_time: 2, is_stream: true } as Log;
  show('Timeline', (props: { details: object }) => <Timeline log={log} details={props.details as never} />, [
    { details: { ms: 0 } },
    { details: { ms: 900 } },
    { details: { ms: 900, frt: 300 } },
    {
      details: {
        ms: 900,
        frt: 300,
        admin_info: {
          attempts: [
            { name: 'east', reason: '502', ms: 100 },
            { reason: 'timeout', ms: 50 },
          ],
        },
      },
    },
  ]);
  const error = new Error('busy');
  show(
    'FailureNote',
    (props: { lastGoodAt: number; title?: string }) => (
      <FailureNote
        failure={{ error, lastGoodAt: props.lastGoodAt, retry: onPage }}
        {...(props.title === undefined ? {} : { title: props.title })}
      />
    ),
    [{ lastGoodAt: 0 }, { lastGoodAt: 1_795_685_400_999 }, { lastGoodAt: 0, title: 'Not saved' }],
  );
  expectGolden('tests/web/outlines/tables/pieces.txt', lines);
});
