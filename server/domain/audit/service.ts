/** Who changed what with more than a user's rights. */
import { createHash } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import {
  type AuditEntry,
  type AuditFilter,
  type AuditRow,
  createAuditRepository,
} from '../../../db/repositories/audit.ts';
import type { AuditView } from '../../contract/entities.ts';
import { AppError } from '../../contract/errors.ts';
import { type AuditChanges, changesIn, changesText, isUndoable } from './changes.ts';
import { auditDetail, auditTarget, shownDetail } from './detail.ts';

export interface AuditDetails {
  /** Endpoint id. */
  readonly action: string;
  readonly actorId: number;
  readonly actor: string;
  readonly ip: string;
  readonly input: unknown;
  /** What it changed, where that is known. */
  readonly changes?: AuditChanges;
}

export type AuditService = ReturnType<typeof createAudit>;

const rowsAtOnce = 1000;

const hashOf = (entry: AuditEntry, previousHash: string): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        previousHash,
        entry.at,
        entry.actor_id,
        entry.actor,
        entry.ip,
        entry.action,
        entry.target,
        entry.detail,
        // Rows of builds that kept none have the hash that they had.
        ...(entry.changes === '' ? [] : [entry.changes]),
      ]),
    )
    .digest('hex');

/** As it is kept: what the call is called depends on the reader. */
export type AuditRecord = Omit<AuditView, 'action_label'>;

function view({ id, at, actor_id, actor, ip, action, target, detail, hash, changes: text }: AuditRow): AuditRecord {
  const found = changesIn(text);
  const { changes, left } = found;
  return {
    ...{ id, created_at: at, actor_id, actor, ip, action, target, detail: shownDetail(detail), hash },
    ...{ changes: [...changes], changes_left: left, undoable: isUndoable(found) },
  };
}

export function createAudit(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createAuditRepository(deps.database, hashOf);
  return {
    record: (details: AuditDetails): Promise<void> =>
      repository.append({
        at: Math.floor(deps.now() / 1000),
        actor_id: details.actorId,
        actor: details.actor,
        ip: details.ip,
        action: details.action,
        target: auditTarget(details.input),
        detail: auditDetail(details.input),
        changes: details.changes === undefined ? '' : changesText(details.changes),
      }),
    /** @throws AppError not_found */
    async find(id: number): Promise<AuditRecord> {
      const row = await repository.find(id);
      if (row === undefined) throw new AppError('not_found', { what: `audit ${id}` });
      return view(row);
    },
    /** @param page 1-based, newest first. */
    async page(page: number, size: number, filter: AuditFilter = {}) {
      const { rows, total } = await repository.page((page - 1) * size, size, filter);
      return { items: rows.map(view), page, page_size: size, total };
    },
    /** What was done to one thing, newest first. @param actions what the endpoint's id begins with: `user.` */
    ofTarget: async (actions: string, target: string, limit: number): Promise<AuditRecord[]> =>
      (await repository.ofTarget(actions, target, limit)).map(view),
    /** Walks the whole chain. @returns rows read, and the id of the first that does not follow from the one before; null = none. */
    async verify(): Promise<{ readonly checked: number; readonly broken: number | null }> {
      let previous = '';
      let lastId = 0;
      let checked = 0;
      for (;;) {
        const rows = await repository.after(lastId, rowsAtOnce);
        if (rows.length === 0) return { checked, broken: null };
        for (const row of rows) {
          if (row.previous_hash !== previous || row.hash !== hashOf(row, previous)) return { checked, broken: row.id };
          previous = row.hash;
          lastId = row.id;
          checked++;
        }
      }
    },
  };
}
