/** The rows of the log: one page of them, or page after page as they are scrolled to. */

import { useMemo, useState } from 'react';
import type { Log } from '../../../server/contract/entities.ts';
import type { LogStatus } from '../../../server/contract/log-status.ts';
import type { NameKind } from '../../../server/contract/names.ts';
import type { logSorts, Sort } from '../../../server/contract/sort.ts';
import { call } from '../../lib/api.ts';
import { type ListState, useList, usePagedList } from '../../lib/read.ts';

export interface LogFilters extends Readonly<Partial<Record<NameKind, string>>> {
  readonly type: number;
  readonly status: LogStatus[];
  readonly error: string;
  readonly model_name: string;
  readonly token_name: string;
  readonly label?: string;
  readonly group: string;
  readonly request_id: string;
  readonly start_timestamp: number;
  readonly end_timestamp: number;
  readonly username?: string;
  readonly channel?: number;
  readonly channel_name?: string;
}

export interface LogsOptions {
  readonly admin: boolean;
  readonly filters: LogFilters;
  readonly sort: Sort<(typeof logSorts)[number]> | undefined;
  readonly page: number;
  /** null = all of them, piece by piece. */
  readonly size: number | null;
  /** Milliseconds; false = rows hold still. */
  readonly refetchInterval: number | false;
}

export interface Logs {
  readonly rows: readonly Log[];
  readonly total: number | undefined;
  readonly list: ListState;
  /** More rows, where there are some. */
  readonly onEnd: (() => void) | undefined;
}

/** What the server gives at once. */
const chunkSize = 100;
const none: readonly Log[] = [];

export function useLogs({ admin, filters, sort, page, size, refetchInterval }: LogsOptions): Logs {
  const paged = size === null;
  const ask = (p: number, pageSize: number, until = filters.end_timestamp) =>
    call(admin ? 'log.list' : 'log.self', { p, page_size: pageSize, sort, ...filters, end_timestamp: until });
  const list = useList({
    queryKey: ['logs', admin, page, size, filters, sort],
    queryFn: () => ask(page, size ?? chunkSize),
    refetchInterval,
    enabled: !paged,
  });
  // Pages are counted from the newest row: what comes later must not move them.
  const [now] = useState(() => Math.floor(Date.now() / 1000));
  const all = usePagedList({
    queryKey: ['logs', admin, 'all', filters, sort],
    queryFn: (part) => ask(part, chunkSize, filters.end_timestamp || now),
    isLast: (last) => last.items.length < chunkSize,
    enabled: paged,
  });
  const pages = all.data;
  const rows = useMemo(() => {
    const seen = new Map<number, Log>();
    for (const one of pages ?? []) for (const row of one.items) seen.set(row.id, row);
    return [...seen.values()];
  }, [pages]);
  return paged
    ? { rows, total: pages?.[0]?.total, list: all, onEnd: all.more }
    : { rows: list.data?.items ?? none, total: list.data?.total, list, onEnd: undefined };
}
