/** Picks models of a channel and tries them, one or all. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { timeText } from '../../lib/format.ts';
import type { ChannelActions } from './actions.ts';
import { RequestPreview } from './request-preview.tsx';

type Result = { readonly state: 'running' } | { readonly state: 'ok' | 'failed'; readonly text: string };

const atOnce = 3;

export interface TestDrawerProps {
  readonly channel: Channel;
  readonly actions: ChannelActions;
  readonly onClose: () => void;
}

export function TestDrawer({ channel, actions, onClose }: TestDrawerProps) {
  const { t } = useTranslation();
  const [search, setSearch] = useState('');
  const [stream, setStream] = useState(false);
  const [results, setResults] = useState<Readonly<Record<string, Result>>>({});
  const models = channel.models.split(',').filter((name) => name.toLowerCase().includes(search.trim().toLowerCase()));
  const note = (model: string, result: Result) => setResults((before) => ({ ...before, [model]: result }));

  const test = async (model: string) => {
    note(model, { state: 'running' });
    try {
      const { success, message, time } = await call('channel.test', { id: channel.id, model, stream });
      note(model, success ? { state: 'ok', text: timeText(time * 1000) } : { state: 'failed', text: message });
    } catch (error) {
      note(model, { state: 'failed', text: messageOf(error) });
    }
  };
  const testAll = async () => {
    const queue = [...models];
    const worker = async () => {
      for (let model = queue.shift(); model !== undefined; model = queue.shift()) await test(model);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    await actions.refresh();
  };

  return (
    <Sheet
      title={t('channels.testTitle', { name: channel.name })}
      onClose={onClose}
      footer={
        <button type="button" className="button button-primary" onClick={testAll}>
          {t('channels.testModels', { count: models.length })}
        </button>
      }
    >
      <div className="mb-3 flex items-center gap-3">
        <input
          type="search"
          className="field"
          placeholder={t('channels.searchModels')}
          aria-label={t('channels.searchModels')}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <label className="flex items-center gap-2 whitespace-nowrap">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            checked={stream}
            onChange={(event) => setStream(event.target.checked)}
          />
          {t('channels.stream')}
        </label>
      </div>
      <ul>
        {models.map((model) => {
          const result = results[model];
          return (
            <li key={model} className="flex min-h-9 items-center gap-3 border-b border-line py-1">
              <span className="min-w-0 flex-1">
                <span className="block truncate">{model}</span>
                {result?.state === 'failed' ? (
                  <span className="block text-[12px] break-words text-danger">{result.text}</span>
                ) : null}
              </span>
              <span role="status" className={result?.state === 'ok' ? 'text-success' : 'text-ink-3'}>
                {result?.state === 'ok' ? result.text : result?.state === 'running' ? t('channels.testing') : ''}
              </span>
              <button
                type="button"
                className="button"
                aria-label={t('channels.testOne', { name: model })}
                disabled={result?.state === 'running'}
                onClick={async () => {
                  await test(model);
                  await actions.refresh();
                }}
              >
                {t('channels.test')}
              </button>
            </li>
          );
        })}
      </ul>
      <RequestPreview channel={channel.id} model={channel.models.split(',')[0] ?? ''} />
    </Sheet>
  );
}
