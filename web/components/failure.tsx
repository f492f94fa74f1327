/** That something could not be read or shown: why, how old what is shown instead is, and the way to try again. */
import { QueryErrorResetBoundary, useQueryClient } from '@tanstack/react-query';
import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../lib/api.ts';
import { canReload, isCodeMissing, reloadPage } from '../lib/code-error.ts';
import { dateTime } from '../lib/format.ts';
import type { Failure } from '../lib/read.ts';
import { Waiting } from './waiting.tsx';

export interface FailureNoteProps {
  readonly failure: Failure;
  /** What could not be done; that something could not be loaded when absent. */
  readonly title?: string;
}

export function FailureNote({ failure: { error, lastGoodAt, retry }, title }: FailureNoteProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  /** What failed for one reason is mended by one press. */
  const retryAll = () => {
    retry();
    void client.refetchQueries(
      { type: 'active', predicate: ({ state }) => state.status === 'error' },
      { cancelRefetch: false },
    );
  };
  return (
    <div
      role="alert"
      data-failure
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-2 bg-danger-soft px-3 py-2 text-danger"
    >
      <p className="min-w-0 flex-1 basis-60 break-words">
        {t('failure.because', { title: title ?? t('failure.title'), cause: error.message })}
        {lastGoodAt === 0 ? null : (
          <span className="block text-[12px]">
            {t('failure.lastGood', { time: dateTime(Math.floor(lastGoodAt / 1000)) })}
          </span>
        )}
      </p>
      {isMissing(error) ? null : (
        <button type="button" className="button" onClick={retryAll}>
          {t('app.retry')}
        </button>
      )}
    </div>
  );
}

/** A page that cannot go on: its code is gone, or it broke. */
function Broken({ error }: { readonly error: unknown }) {
  const { t } = useTranslation();
  const gone = isCodeMissing(error);
  return (
    <div role="alert" data-failure className="grid max-w-prose justify-items-start gap-3 p-5">
      <h1 className="text-danger">{t('failure.broken')}</h1>
      <p className="text-ink-2">
        {gone ? t('failure.codeGone') : error instanceof Error ? error.message : String(error)}
      </p>
      <button type="button" className="button button-primary" onClick={() => location.reload()}>
        {t('failure.reload')}
      </button>
    </div>
  );
}

interface ErrorBoundaryProps {
  readonly onRetry: () => void;
  readonly missing: BoundaryProps['missing'];
  readonly children: ReactNode;
}

export interface BoundaryProps {
  /** Stands where what the address names does not exist. @param text the server's words. */
  readonly missing?: ((text: string) => ReactNode) | undefined;
  readonly children: ReactNode;
}

interface Caught {
  readonly error: unknown;
  /** The page is about to be loaded again. */
  readonly reloading: boolean;
}

class ErrorBoundary extends Component<ErrorBoundaryProps, Caught> {
  override state: Caught = { error: null, reloading: false };

  static getDerivedStateFromError(error: unknown): Caught {
    return { error, reloading: isCodeMissing(error) && canReload() };
  }

  override componentDidCatch() {
    if (this.state.reloading) void reloadPage().then((reloading) => this.setState({ reloading }));
  }

  override render() {
    const { error, reloading } = this.state;
    if (error === null) return this.props.children;
    if (reloading) return <Waiting />;
    // What a read threw has a status; anything else is a fault of the page.
    if (!(error instanceof Error) || !('status' in error)) return <Broken error={error} />;
    if (this.props.missing !== undefined && isMissing(error)) return this.props.missing(error.message);
    const retry = () => {
      this.props.onRetry();
      this.setState({ error: null, reloading: false });
    };
    return (
      <div className="p-5">
        <FailureNote failure={{ error, lastGoodAt: 0, retry }} />
      </div>
    );
  }
}

/** Stands in for its contents when they cannot be shown; what is around it stays. */
export const Boundary = ({ missing, children }: BoundaryProps) => (
  <QueryErrorResetBoundary>
    {({ reset }) => (
      <ErrorBoundary onRetry={reset} missing={missing}>
        {children}
      </ErrorBoundary>
    )}
  </QueryErrorResetBoundary>
);
