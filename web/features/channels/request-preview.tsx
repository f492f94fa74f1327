/** A request as it would go to the channel's upstream, without sending it. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { Field } from '../../components/form.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { isJsonOrBlank } from './channel-form.ts';

export interface RequestPreviewProps {
  readonly channel: number;
  /** The model of the request that is shown first. */
  readonly model: string;
}

type Previewed = OutputOf<EndpointOf<'route.preview'>>;

/** Address, headers and body, as a protocol's log has them. */
function textOf({ url, headers, body }: Previewed): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${url}`, ...lines, '', body ?? ''].join('\n');
}

export function RequestPreview({ channel, model }: RequestPreviewProps) {
  const { t } = useTranslation();
  const [body, setBody] = useState(() =>
    JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }, null, 2),
  );
  const [found, setFound] = useState<Previewed | null>(null);
  const [failure, setFailure] = useState('');
  const isReadable = isJsonOrBlank(body);
  const show = async () => {
    setFound(null);
    setFailure('');
    try {
      // Without a body, a short chat with the model.
      setFound(await call('route.preview', body.trim() === '' ? { channel, model } : { channel, body }));
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  return (
    <section className="mt-6 grid gap-2" aria-label={t('channels.previewTitle')}>
      <h3 className="text-[12px] leading-4 font-medium text-ink-2">{t('channels.previewTitle')}</h3>
      <Field
        label={t('channels.previewBody')}
        help={t('channels.previewHelp')}
        unreadable={!isReadable}
        error={isReadable ? undefined : t('channels.badJson')}
      >
        {(ids) => (
          <textarea
            {...ids}
            className="field font-mono"
            rows={6}
            value={body}
            onChange={(event) => setBody(event.target.value)}
            spellCheck={false}
          />
        )}
      </Field>
      <button
        type="button"
        className="button justify-self-start max-sm:h-11"
        aria-disabled={!isReadable}
        onClick={() => (isReadable ? void show() : undefined)}
      >
        {t('channels.previewNow')}
      </button>
      <p role="status" className="text-[12px] break-words text-danger">
        {failure}
      </p>
      {found === null ? null : (
        <>
          <Scrolls
            as="pre"
            className="max-h-96 overflow-auto rounded-2 bg-sunken p-3 font-mono text-[12px] break-all whitespace-pre-wrap"
          >
            {textOf(found)}
          </Scrolls>
          {found.signed ? <p className="text-[12px] text-ink-3">{t('channels.previewSigned')}</p> : null}
          {found.dropped.length === 0 ? null : (
            <p className="text-[12px] text-ink-3">
              {t('channels.previewDropped', { members: found.dropped.join('; ') })}
            </p>
          )}
        </>
      )}
    </section>
  );
}
