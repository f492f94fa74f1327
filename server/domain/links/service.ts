/** Links that open one invoice or one statement without an account: for a while, counted, until they are revoked or their maker may not make them any more. */
import { createHash, randomBytes } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import {
  createDocumentLinksRepository,
  type DocumentLinkFilter,
  type DocumentLinkRow,
} from '../../../db/repositories/document-links.ts';
import { documentPage } from '../../contract/console-pages.ts';
import type { DocumentLink } from '../../contract/endpoints/link.ts';
import { AppError } from '../../contract/errors.ts';
import type { Invoice } from '../../contract/invoice.ts';
import { linkDays } from '../../contract/link.ts';
import type { Statement } from '../../contract/statement.ts';
import type { InvoicesService } from '../invoices/service.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';
import type { StatementScope, StatementsService } from '../statements/service.ts';
import { mayStillGive } from '../users/authority.ts';
import type { UsersService } from '../users/service.ts';

/** 128 bits. */
const secretBytes = 16;
const daySeconds = 86_400;
/** An address that tries links has so many tries in ten minutes. */
const maxOpened = 60;
const openedSeconds = 600;
/** Ended links stay in the list for so long. */
const keptDays = 90;

/** A statement's subject as it is stored. */
interface StoredStatement {
  readonly whose: StatementScope;
  readonly month: string;
}

export interface MadeLink {
  readonly id: number;
  /** Follows the address of the site. Behind its mark: browsers keep it out of what they send, proxies out of their logs. */
  readonly path: string;
  readonly expires_time: number;
  readonly title: string;
}

export type LinksService = ReturnType<typeof createLinks>;

export function createLinks(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly users: Pick<UsersService, 'find'>;
  readonly invoices: Pick<InvoicesService, 'get'>;
  readonly statements: Pick<StatementsService, 'get'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const repository = createDocumentLinksRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);
  const opening = createRateLimit('document links', openedSeconds, maxOpened, deps.store);

  /** @throws AppError params_invalid */
  const add = async (
    row: Pick<DocumentLinkRow, 'kind' | 'subject' | 'title' | 'user_id'>,
    createdBy: number,
    days = linkDays,
  ): Promise<MadeLink> => {
    if (days < 1 || days > linkDays) throw new AppError('params_invalid', { detail: `days 1-${linkDays}` });
    const secret = randomBytes(secretBytes).toString('base64url');
    const [createdAt, expiresAt] = [seconds(), seconds() + days * daySeconds];
    const id = await repository.create({
      ...{ ...row, secret_hash: hashOf(secret), created_by: createdBy, created_at: createdAt, expires_at: expiresAt },
    });
    return { id, path: `${documentPage}#${secret}`, expires_time: expiresAt, title: row.title };
  };

  /** @throws AppError not_found */
  const documentOf = async (row: Pick<DocumentLinkRow, 'kind' | 'subject'>) => {
    if (row.kind === 'invoice') {
      const invoice = await deps.invoices.get(row.subject);
      return { invoice: { ...invoice, buyer: { ...invoice.buyer, user_id: 0 } }, statement: null };
    }
    const { whose, month } = JSON.parse(row.subject) as StoredStatement;
    return { invoice: null, statement: { ...(await deps.statements.get(whose, month)), id: 0 } };
  };

  return {
    /** @throws AppError params_invalid, not_found */
    async toInvoice(number: string, userId: number, createdBy: number, days?: number): Promise<MadeLink> {
      const { number: name } = await deps.invoices.get(number);
      return add({ kind: 'invoice', subject: name, title: name, user_id: userId }, createdBy, days);
    },
    /** @param month `2026-11`; '' = the current one. @throws AppError params_invalid, not_found */
    async toStatement(whose: StatementScope, month: string, createdBy: number, days?: number): Promise<MadeLink> {
      const statement = await deps.statements.get(whose, month);
      const subject: StoredStatement = { whose, month: statement.month };
      const title = `${statement.month} ${statement.name}`;
      const row = { kind: 'statement' as const, subject: JSON.stringify(subject), title, user_id: whose.userId ?? 0 };
      return add(row, createdBy, days);
    },
    /** @param page 1-based. */
    async page(filter: DocumentLinkFilter, page: number, size: number) {
      const { rows, total } = await repository.page(filter, (page - 1) * size, size);
      const now = seconds();
      return { items: rows.map((row) => viewOf(row, now)), page, page_size: size, total };
    },
    /** Whose document it is, and who made the link. @throws AppError not_found */
    async ownersOf(id: number): Promise<readonly [userId: number, createdBy: number]> {
      const row = await repository.find(id);
      if (row === undefined) throw new AppError('not_found', { what: `link ${id}` });
      return [row.user_id, row.created_by];
    },
    revoke: (id: number): Promise<void> => repository.revoke(id, seconds()),
    /**
     * The document alone: what stands on its paper.
     * @param ip of who opens it. @throws AppError too_many_attempts, document_link_gone
     */
    async open(
      secret: string,
      ip: string,
    ): Promise<{ expires_time: number; invoice: Invoice | null; statement: Statement | null }> {
      if (!(await opening.take(ip))) throw new AppError('too_many_attempts');
      const row = await repository.withSecret(hashOf(secret), seconds());
      if (row === undefined) throw new AppError('document_link_gone');
      const [maker, owner] = [await deps.users.find(row.created_by), await deps.users.find(row.user_id)];
      if (!mayStillGive(maker, row.user_id, owner)) throw new AppError('document_link_gone');
      const document = await documentOf(row).catch((error: unknown) => {
        // Whose it was is gone.
        if (error instanceof AppError && error.code === 'not_found')
          throw new AppError('document_link_gone', {}, error);
        throw error;
      });
      if (!(await repository.countOpened(row.id, seconds()))) throw new AppError('document_link_gone');
      return { expires_time: row.expires_at, ...document };
    },
    sweep: (): Promise<void> => repository.deleteOlder(seconds() - keptDays * daySeconds),
  };
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const viewOf = (row: DocumentLinkRow, now: number): DocumentLink => ({
  ...{ id: row.id, kind: row.kind as DocumentLink['kind'], title: row.title, user_id: row.user_id },
  created_by: row.creator ?? '',
  created_time: row.created_at,
  expires_time: row.expires_at,
  state: row.revoked_at > 0 ? 'revoked' : row.expires_at <= now ? 'expired' : '',
  opened: row.opened,
  opened_time: row.opened_at,
});
