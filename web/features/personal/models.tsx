/** Models the reader may use, of which many fold away, and whether those without a price are among them. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { CheckBox } from '../../components/filters.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';
import { settingOf } from './notifications.tsx';

const initialCount = 10;
const key = 'modelsExpanded';

export function Models({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const read = useRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const models = read ?? [];
  const [all, setAll] = useState(() => localStorage.getItem(key) === 'true');
  const visible = all ? models : models.slice(0, initialCount);
  const accept = async (on: boolean) => {
    await attempt(() => call('account.setting', { accept_unset_model_ratio_model: on }), t('settings.saved'));
    await client.invalidateQueries({ queryKey: ['self'] });
  };
  return (
    <Card title={t('personal.models')}>
      {read === undefined ? <Waiting /> : null}
      <ul className="flex flex-wrap gap-1.5">
        {visible.map((name) => (
          <li key={name}>
            <button
              type="button"
              className="min-h-6 rounded-1 bg-sunken px-1.5 text-[12px] text-ink-2 hover:bg-hover"
              onClick={() => copyOrShow(name)}
            >
              {name}
            </button>
          </li>
        ))}
      </ul>
      {models.length > initialCount ? (
        <button
          type="button"
          className="button mt-3"
          aria-expanded={all}
          onClick={() => {
            localStorage.setItem(key, String(!all));
            setAll(!all);
          }}
        >
          {all ? t('personal.fewer') : t('personal.more', { count: models.length - initialCount })}
        </button>
      ) : null}
      <CheckBox
        className="mt-3 flex items-center gap-2 border-t border-line pt-3"
        label={t('personal.acceptUnset')}
        checked={settingOf(self).accept_unset_model_ratio_model === true}
        onChange={(on) => void accept(on)}
      />
    </Card>
  );
}
