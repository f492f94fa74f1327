/** The state of a drawing or song according to its upstream. Pure. */

import type { DrawingRow, SongRow } from '../../../db/repositories/tasks.ts';
import { storedText } from '../../contract/stored-texts.ts';

type Report = Readonly<Record<string, unknown>>;

/** A drawing without a report from its upstream for so long has failed. */
const drawingLimitMs = 3_600_000;

const words = (value: unknown): string => (typeof value === 'string' ? value : '');
const time = (value: unknown): number => (typeof value === 'number' && value > 0 ? Math.floor(value) : 0);
const json = (value: unknown): string => (value === undefined || value === null ? '' : JSON.stringify(value));

/** States of midjourney-proxy. */
const states = new Set(['NOT_START', 'SUBMITTED', 'MODAL', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'CANCEL']);

/** @returns the columns that change, null when the report says nothing new or nothing sensible. */
export function drawingChange(row: DrawingRow, report: Report, nowMs: number): Partial<DrawingRow> | null {
  const state = words(report.status).toUpperCase();
  const progress = words(report.progress) || row.progress;
  const failReason = words(report.failReason);
  const failed = state === 'FAILURE' || state === 'CANCEL' || (failReason !== '' && progress !== '100%');
  const status = failed ? 'FAILURE' : state === 'SUCCESS' && progress === '100%' ? 'SUCCESS' : state;
  if (!failed && !states.has(status)) return null;
  const ended = status === 'SUCCESS' || status === 'FAILURE';
  const change: Partial<DrawingRow> = {
    // A dialog that opens waits for the client, not for the upstream.
    status: ended ? status : status === 'SUCCESS' ? 'IN_PROGRESS' : status,
    progress: ended ? '100%' : progress,
    fail_reason: failed ? failReason || 'FAILURE' : '',
    prompt_en: words(report.promptEn) || row.prompt_en,
    description: words(report.description) || row.description,
    image_url: words(report.imageUrl) || row.image_url,
    start_ms: time(report.startTime) || row.start_ms,
    finish_ms: ended ? time(report.finishTime) || nowMs : row.finish_ms,
    buttons: json(report.buttons) || row.buttons,
    properties: json(report.properties) || row.properties,
  };
  const same = (Object.keys(change) as (keyof DrawingRow)[]).every((key) => change[key] === row[key]);
  return same ? null : change;
}

/** @returns null while a drawing still has time. */
export const drawingTimeout = (row: DrawingRow, nowMs: number): Partial<DrawingRow> | null =>
  nowMs - row.submit_ms < drawingLimitMs
    ? null
    : { status: 'FAILURE', progress: '100%', fail_reason: storedText('taskLate'), finish_ms: nowMs };

const songStates = new Set(['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'FAILURE', 'SUCCESS', 'UNKNOWN']);

export function songChange(row: SongRow, report: Report, at: number): Partial<SongRow> | null {
  const failReason = words(report.fail_reason);
  const state = words(report.status).toUpperCase();
  const status = failReason !== '' ? 'FAILURE' : state;
  if (!songStates.has(status)) return null;
  const ended = status === 'SUCCESS' || status === 'FAILURE';
  const change: Partial<SongRow> = {
    status,
    fail_reason: failReason,
    progress: ended ? '100%' : words(report.progress) || row.progress,
    start_at: time(report.start_time) || row.start_at,
    finish_at: ended ? time(report.finish_time) || at : row.finish_at,
    data: json(report.data) || row.data,
  };
  const same = (Object.keys(change) as (keyof SongRow)[]).every((key) => change[key] === row[key]);
  return same ? null : { ...change, updated_at: at };
}
