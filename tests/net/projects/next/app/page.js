import ms from 'ms'
import Counter from './counter'

export default function Page() {
  return (
    <main>
      <p>{`two days are ${ms('2d')} ms`}</p>
      <Counter />
    </main>
  )
}
