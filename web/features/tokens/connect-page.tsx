/** How programs of the reader's use this site: signed in with one line, or with a key; and which of them are. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Card } from '../../components/card.tsx';
import { Boundary } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { Programs } from '../../components/programs.tsx';
import { SelectField } from '../../components/select.tsx';
import { UseWith } from '../../components/use-with.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { callPage } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';

/** What the list gives at once: who has more keys looks for one on their page. */
const most = 100;
const enabled = 1;

function WithKey() {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState('');
  // Of a program that signed in there is no key to copy.
  const keys = useRead({
    queryKey: ['tokens', 'connect'],
    queryFn: () => callPage('token.list', { p: 0, size: most }),
  }).data?.items.filter(({ status, kind }) => status === enabled && kind === undefined);
  if (keys === undefined) return <Waiting />;
  const key = keys.find(({ id }) => String(id) === chosen) ?? keys[0];
  return (
    <Card title={t('connect.withKey')}>
      {key === undefined ? (
        <>
          <p className="mb-3 text-ink-2">{t('connect.noKey')}</p>
          <Link href="/token?new=1" className="button button-primary">
            {t('tokens.add')}
          </Link>
        </>
      ) : (
        <UseWith
          token={key}
          onCopy={(text) => void copyOrShow(text)}
          masked
          field={
            <SelectField
              label={t('connect.key')}
              value={String(key.id)}
              options={keys.map(({ id, name }) => [String(id), name] as const)}
              onChange={setChosen}
            />
          }
        />
      )}
    </Card>
  );
}

export function ConnectPage() {
  const { t } = useTranslation();
  return (
    <>
      <PageHead title={t('connect.title')} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 px-5 pb-6 xl:has-[>:nth-child(2)]:grid-cols-2">
        {[Programs, WithKey].map((Part) => (
          <Boundary key={Part.name}>
            <Part />
          </Boundary>
        ))}
      </div>
    </>
  );
}
