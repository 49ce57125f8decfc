"""Scientific classification of animals."""

RANKS = ("class", "order", "family", "genus")
ANIMALS = {
    "brown bear": "Mammalia Carnivora Ursidae Ursus",
    "cat": "Mammalia Carnivora Felidae Felis",
    "chimpanzee": "Mammalia Primates Hominidae Pan",
    "cow": "Mammalia Artiodactyla Bovidae Bos",
    "donkey": "Mammalia Perissodactyla Equidae Equus",
    "eel": "Actinopterygii Anguilliformes Anguillidae Anguilla",
    "emperor penguin": "Aves Sphenisciformes Spheniscidae Aptenodytes",
    "fruit fly": "Insecta Diptera Drosophilidae Drosophila",
    "giraffe": "Mammalia Artiodactyla Giraffidae Giraffa",
    "goat": "Mammalia Artiodactyla Bovidae Capra",
    "golden eagle": "Aves Accipitriformes Accipitridae Aquila",
    "hare": "Mammalia Lagomorpha Leporidae Lepus",
    "hippopotamus": "Mammalia Artiodactyla Hippopotamidae Hippopotamus",
    "honey bee": "Insecta Hymenoptera Apidae Apis",
    "horse": "Mammalia Perissodactyla Equidae Equus",
    "house mouse": "Mammalia Rodentia Muridae Mus",
    "human": "Mammalia Primates Hominidae Homo",
    "koala": "Mammalia Diprotodontia Phascolarctidae Phascolarctos",
    "lion": "Mammalia Carnivora Felidae Panthera",
    "ostrich": "Aves Struthioniformes Struthionidae Struthio",
    "otter": "Mammalia Carnivora Mustelidae Lutra",
    "peafowl": "Aves Galliformes Phasianidae Pavo",
    "pig": "Mammalia Artiodactyla Suidae Sus",
    "platypus": "Mammalia Monotremata Ornithorhynchidae Ornithorhynchus",
    "rabbit": "Mammalia Lagomorpha Leporidae Oryctolagus",
    "raven": "Aves Passeriformes Corvidae Corvus",
    "red fox": "Mammalia Carnivora Canidae Vulpes",
    "salmon": "Actinopterygii Salmoniformes Salmonidae Salmo",
    "sheep": "Mammalia Artiodactyla Bovidae Ovis",
    "silkworm moth": "Insecta Lepidoptera Bombycidae Bombyx",
    "swan": "Aves Anseriformes Anatidae Cygnus",
    "wolf": "Mammalia Carnivora Canidae Canis",
}


def classify_animal(animal: str, rank: str) -> str | dict[str, str]:
    """Return the scientific name of the class, order, family or genus of the animal."""
    key = " ".join(animal.split()).casefold()
    if key not in ANIMALS:
        return {"error": f"animal: {animal!r} is not classified here; use {', '.join(ANIMALS)}"}
    return ANIMALS[key].split()[RANKS.index(rank)]
